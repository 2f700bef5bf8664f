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
  std::string host = {};  // "2GiB", "40%"; empty: environment, system
  std::string device = "cpu";
  std::string device_memory = {};
  int threads = 0;  // 0: all usable cores
};

class Session {
 public:
  explicit Session(const SessionOptions& options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  std::int64_t host_budget_bytes() const;
  // What jobs of this session hold now, planned and counted.
  std::int64_t host_held_bytes() const;
  // Who holds which bytes, one line each, largest first.
  std::string explain() const;

  train::SessionState& state() const { return *state_; }

 private:
  std::unique_ptr<train::SessionState> state_;
};

}  // namespace plimsoll
