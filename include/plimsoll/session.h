// A session: the memory line and the threads that jobs run under.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace plimsoll {

namespace train {
class SessionState;
}

struct SessionOptions {
  std::string host = {};           // "2GiB", "40%"; empty: environment, system
  std::string device = "cpu";      // or "cuda:0"
  std::string device_memory = {};  // of its own; empty: environment, all free
  // "h200", "a100-80", "l4", "t4", "rtx4090": models are planned for such a
  // device, which need not be here, and cannot be trained.
  std::string device_profile = {};
  int threads = 0;  // 0: all usable cores
};

// For one thread at a time, with its models and iterators: any thread, but
// never two at once.
class Session {
 public:
  explicit Session(const SessionOptions& options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // Gives everything back, the device's context too. Models and iterators of
  // the session lose what they hold and throw when they are used; so they do
  // when the session itself goes.
  void close();

  std::int64_t host_budget_bytes() const;
  std::int64_t device_budget_bytes() const;  // 0 on the CPU
  // What jobs of this session hold now, planned and counted.
  std::int64_t host_held_bytes() const;
  std::int64_t device_held_bytes() const;
  // Who holds which bytes, one line each, largest first.
  std::string explain() const;

  train::SessionState& state() const { return *state_; }

 private:
  std::shared_ptr<train::SessionState> state_;
};

}  // namespace plimsoll
