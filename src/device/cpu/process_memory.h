// What a process holds, as the kernel counts it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace plimsoll {

// Of smaps_rollup: counted page by page.
struct ProcessMemory {
  std::int64_t rss_bytes = 0;
  std::int64_t swap_bytes = 0;
  std::int64_t anonymous_bytes = 0;
  std::int64_t pss_bytes = 0;  // pages that n processes share count 1/n

  std::int64_t resident_bytes() const { return rss_bytes + swap_bytes; }
};

// Of status: cheap whatever the size, but the kernel may lag by some pages.
struct ProcessStatus {
  std::int64_t rss_bytes = 0;
  std::int64_t swap_bytes = 0;
  std::int64_t peak_rss_bytes = 0;  // VmHWM

  std::int64_t resident_bytes() const { return rss_bytes + swap_bytes; }
};

// Opens the files once and reads them into a fixed buffer: no allocation, so
// that it can be used inside the training loop. A reader sees the program that
// ran when it was opened, not one that it executes later.
class ProcessMemoryReader {
 public:
  ProcessMemoryReader() = default;
  ProcessMemoryReader(ProcessMemoryReader&& other) noexcept;
  ProcessMemoryReader& operator=(ProcessMemoryReader&& other) noexcept;
  ~ProcessMemoryReader();

  static Result<ProcessMemoryReader> open_self();
  static Result<ProcessMemoryReader> open(pid_t pid);

  // False once the process is gone.
  bool read(ProcessMemory& memory) const noexcept;
  bool read(ProcessStatus& status) const noexcept;

 private:
  static Result<ProcessMemoryReader> open_folder(const std::string& folder);
  int rollup_ = -1;
  int status_ = -1;
};

// One-off readings.
Result<ProcessMemory> read_process_memory(pid_t pid);
Result<ProcessStatus> read_process_status(pid_t pid);
// This process's peak is counted anew from what it holds. False: the kernel
// does not let it.
bool restart_peak_rss();
// A sanitizer's own memory is in the process too: figures are not ours then.
bool is_sanitized();

}  // namespace plimsoll
