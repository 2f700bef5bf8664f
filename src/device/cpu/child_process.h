// A command started by us, with the signals that we get passed on to it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll {

struct ChildEnd {
  int exit_code = 0;  // 128 + signal when one ended it
  // Largest resident memory of any single process under it.
  std::int64_t peak_rss_bytes = 0;
};

// While it lives, signals to this process are held back and handed on, and
// orphans of the command become our children, so that they stay in the tree.
class ChildProcess {
 public:
  ChildProcess();
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Zero, or the shell's code for a command that cannot be started, with
  // errno's text in `why`.
  int start(const std::vector<std::string>& command, std::string& why);

  // Waits at most `patience`, passing signals on. The end, once there is one.
  std::optional<ChildEnd> wait_for(std::chrono::nanoseconds patience);

  // Largest resident memory that the command may have had from us, before it
  // became itself.
  std::int64_t inherited_rss_bytes() const { return inherited_rss_bytes_; }

 private:
  std::optional<ChildEnd> reap();

  pid_t pid_ = -1;
  std::int64_t inherited_rss_bytes_ = 0;
  sigset_t ours_;
  sigset_t before_;
  struct sigaction child_action_before_;
  int reaper_before_ = 0;
};

}  // namespace plimsoll
