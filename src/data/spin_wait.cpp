#include "data/spin_wait.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <thread>

namespace plimsoll::data {
namespace {

using Clock = std::chrono::steady_clock;

// The library's own wait() gives the processor away several times before it
// sleeps: on a busy machine each time costs milliseconds.
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
void futex(const std::atomic<std::uint32_t>& value, int what,
           std::uint32_t number) noexcept {
  syscall(SYS_futex, &value, what | FUTEX_PRIVATE_FLAG, number, nullptr,
          nullptr, 0);
}

std::atomic<std::uint32_t> sleepers{0};  // over all values

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace

bool spin_while(const std::atomic<std::uint32_t>& value, std::uint32_t is) {
  if (value.load(std::memory_order_acquire) != is) return true;
  // On one processor nobody else could make progress meanwhile.
  static const bool alone = std::thread::hardware_concurrency() < 2;
  if (alone) return false;
  const auto until = Clock::now() + std::chrono::microseconds(10);
  do {
    for (int i = 0; i < 16; ++i) {
      pause_briefly();
      if (value.load(std::memory_order_acquire) != is) return true;
    }
  } while (Clock::now() < until);
  return false;
}

void sleep_while(const std::atomic<std::uint32_t>& value, std::uint32_t is) {
  // In this order on both sides (say, then look), one of the two sees the
  // other: no wake-up is lost.
  sleepers.fetch_add(1);
  while (value.load() == is) futex(value, FUTEX_WAIT, is);
  sleepers.fetch_sub(1);
}

void wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t is) {
  if (!spin_while(value, is)) sleep_while(value, is);
}

void wake_one(const std::atomic<std::uint32_t>& value) noexcept {
  if (sleepers.load() != 0) futex(value, FUTEX_WAKE, 1);
}

void wake_all(const std::atomic<std::uint32_t>& value) noexcept {
  constexpr auto kAll =
      static_cast<std::uint32_t>(std::numeric_limits<int>::max());
  if (sleepers.load() != 0) futex(value, FUTEX_WAKE, kAll);
}

}  // namespace plimsoll::data
