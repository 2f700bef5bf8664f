// `plimsoll watch`: measures any command's memory from outside.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::cli {

struct WatchOptions {
  std::optional<std::int64_t> host_memory_bytes;  // the line to warn at
  std::string json_path;                          // empty: none
};

// Runs the command and returns its own exit code: 128 + the signal that ended
// it, 127 when there is no such command, 126 when it cannot be run. Signals
// are passed on to it. Passing the line is reported, not punished.
int run_watch(const WatchOptions& options, std::vector<std::string> command);

}  // namespace plimsoll::cli
