#include "device/cpu/address_limit.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace plimsoll {
namespace {

// What the process has mapped now, in bytes; 0 where nobody says.
rlim_t mapped_now() noexcept {
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 64> text{};
  const ssize_t got = read(file, text.data(), text.size() - 1);
  close(file);
  if (got <= 0) return 0;
  return std::strtoull(text.data(), nullptr, 10) *
         static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

AddressLimit::AddressLimit(std::int64_t room_bytes) noexcept {
  const rlim_t now = mapped_now();
  if (now == 0 || getrlimit(RLIMIT_AS, &before_) != 0) return;
  rlimit limit = before_;
  limit.rlim_cur =
      std::min(now + static_cast<rlim_t>(std::max<std::int64_t>(room_bytes, 0)),
               before_.rlim_cur);
  set_ = setrlimit(RLIMIT_AS, &limit) == 0;
}

AddressLimit::~AddressLimit() {
  if (set_) setrlimit(RLIMIT_AS, &before_);
}

}  // namespace plimsoll
