// What stands behind a public Session.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>

#include "base/throw_error.h"
#include "plimsoll/session.h"
#include "runtime/eager/cuda_backend.h"
#include "runtime/eager/eager.h"
#include "train/fit.h"
#include "train/workplace.h"

namespace plimsoll::train {

class SessionUser;

class SessionState : public std::enable_shared_from_this<SessionState> {
 public:
  // Throws what is wrong with the options, or missing.
  explicit SessionState(const SessionOptions& options);
  ~SessionState();

  // Throws once the session is closed.
  Machine& machine() const;
  const Workplace& place() const { return place_; }
  const Budget& budget() const { return place_.budget; }
  const std::optional<Budget>& device_budget() const {
    return place_.device_budget;
  }
  Line line() const;

  // What tensors and models hold; the process itself is part of each plan.
  std::int64_t held_bytes(Space space) const;

  // Throws where the session is for planning alone.
  void check_trains() const;
  // Takes the device's context unless that is done. Nothing on the CPU.
  void use_device();

  // What runs tensors' ops; null where there is none.
  const std::shared_ptr<runtime::Eager>& eager() const { return eager_; }

  bool closed() const { return !place_.machine; }
  // Takes back what users hold, then everything else. While a job runs it does
  // nothing and answers false.
  bool close() noexcept;

  // Stands while a job runs.
  class Running {
   public:
    explicit Running(SessionState& state) : state_(state) {
      ++state_.running_;
      if (state_.eager_) state_.eager_->release_process();
    }
    ~Running() { --state_.running_; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    SessionState& state_;
  };

 private:
  friend class SessionUser;
  std::shared_ptr<runtime::Eager> make_eager();
  std::shared_ptr<runtime::Eager> make_eager_on_device();
  Status open_device();
  Result<runtime::OpenedDevice> open_for_tensors();
  void close_eager() noexcept;

  RunOptions options_;
  Workplace place_;
  // Null where the session is for planning alone.
  std::shared_ptr<runtime::Eager> eager_;
  std::mutex mutex_;  // of the users
  std::set<SessionUser*> users_;
  std::atomic<int> running_ = 0;
};

// A model or an iterator: holds memory of a session until that is closed.
class SessionUser {
 public:
  SessionUser() = default;
  SessionUser(const SessionUser&) = delete;
  SessionUser& operator=(const SessionUser&) = delete;
  virtual ~SessionUser() { leave(); }

  void join(SessionState& state);
  void leave() noexcept;
  // Gives back what is held; the session is about to close.
  virtual void let_go() noexcept = 0;

  SessionState* joined() const { return session_.get(); }

 private:
  std::shared_ptr<SessionState> session_;
};

}  // namespace plimsoll::train
