#include "data/spin_wait.h"

#include <chrono>
#include <thread>

namespace plimsoll::data {
namespace {

using Clock = std::chrono::steady_clock;

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

void wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t is) {
  if (spin_while(value, is)) return;
  while (value.load(std::memory_order_acquire) == is) {
    value.wait(is, std::memory_order_acquire);
  }
}

}  // namespace plimsoll::data
