#include "device/cpu/process_memory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "memory/proc_text.h"

namespace plimsoll {
namespace {

// Both files are below 2 KiB; a CPU mask can make status longer, but what is
// read of it stands well before that.
constexpr std::size_t kBufferBytes = 4096;

std::string_view read_at_start(int file, char (&buffer)[kBufferBytes]) {
  std::size_t filled = 0;
  while (filled < kBufferBytes) {
    const ssize_t got = pread(file, buffer + filled, kBufferBytes - filled,
                              static_cast<off_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return {buffer, filled};
}

bool take(std::string_view text, std::string_view key, std::int64_t& bytes) {
  const auto field = kib_field(text, key);
  bytes = field.value_or(0);
  return field.has_value();
}

Error gone(pid_t pid) {
  return {ErrorCode::io, fmt::format("process {} cannot be read", pid)};
}

}  // namespace

ProcessMemoryReader::ProcessMemoryReader(ProcessMemoryReader&& other) noexcept
    : rollup_(std::exchange(other.rollup_, -1)),
      status_(std::exchange(other.status_, -1)) {}

ProcessMemoryReader& ProcessMemoryReader::operator=(
    ProcessMemoryReader&& other) noexcept {
  std::swap(rollup_, other.rollup_);
  std::swap(status_, other.status_);
  return *this;
}

ProcessMemoryReader::~ProcessMemoryReader() {
  if (rollup_ >= 0) close(rollup_);
  if (status_ >= 0) close(status_);
}

Result<ProcessMemoryReader> ProcessMemoryReader::open_self() {
  return open_folder("/proc/self");
}

Result<ProcessMemoryReader> ProcessMemoryReader::open(pid_t pid) {
  return open_folder(fmt::format("/proc/{}", pid));
}

Result<ProcessMemoryReader> ProcessMemoryReader::open_folder(
    const std::string& folder) {
  ProcessMemoryReader reader;
  for (auto [file, name] : {std::pair(&reader.rollup_, "/smaps_rollup"),
                            std::pair(&reader.status_, "/status")}) {
    *file = ::open((folder + name).c_str(), O_RDONLY | O_CLOEXEC);
    if (*file < 0) {
      return Error{ErrorCode::io, fmt::format("cannot open {}{}: {}", folder,
                                              name, std::strerror(errno))};
    }
  }
  return reader;
}

bool ProcessMemoryReader::read(ProcessMemory& memory) const noexcept {
  char buffer[kBufferBytes];
  const std::string_view text = read_at_start(rollup_, buffer);
  take(text, "Pss:", memory.pss_bytes);
  return take(text, "Rss:", memory.rss_bytes) &&
         take(text, "Anonymous:", memory.anonymous_bytes) &&
         take(text, "Swap:", memory.swap_bytes);
}

bool ProcessMemoryReader::read(ProcessStatus& status) const noexcept {
  char buffer[kBufferBytes];
  const std::string_view text = read_at_start(status_, buffer);
  take(text, "VmSwap:", status.swap_bytes);
  return take(text, "VmHWM:", status.peak_rss_bytes) &&
         take(text, "VmRSS:", status.rss_bytes);
}

Result<ProcessMemory> read_process_memory(pid_t pid) {
  PLIMSOLL_ASSIGN(const auto reader, ProcessMemoryReader::open(pid));
  ProcessMemory memory;
  if (!reader.read(memory)) return gone(pid);
  return memory;
}

Result<ProcessStatus> read_process_status(pid_t pid) {
  // Not through a reader: status is open to all, smaps_rollup is not.
  const auto text = read_text_file(fmt::format("/proc/{}/status", pid));
  ProcessStatus status;
  if (!text || !take(*text, "VmHWM:", status.peak_rss_bytes)) return gone(pid);
  take(*text, "VmRSS:", status.rss_bytes);
  take(*text, "VmSwap:", status.swap_bytes);
  return status;
}

bool restart_peak_rss() {
  const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  constexpr char kPeak = '5';
  const bool done = write(file, &kPeak, 1) == 1;
  close(file);
  return done;
}

bool is_sanitized() {
#ifdef PLIMSOLL_SANITIZED
  return true;
#else
  return false;
#endif
}

}  // namespace plimsoll
