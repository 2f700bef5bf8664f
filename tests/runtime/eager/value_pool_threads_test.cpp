#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/units.h"
#include "device/cpu/host_memory_source.h"
#include "runtime/eager/value_pool.h"

namespace plimsoll::runtime {
namespace {

TEST(ValuePoolThreadsTest, BlocksMayGoOnAnotherThread) {
  HostMemorySource source;
  Ledger ledger;
  ledger.set_limit(Space::host, 8 * kMiB);
  ValuePool pool(source, ledger);
  std::mutex mutex;
  std::vector<Block> handed_over;
  std::atomic<bool> broken{false};
  std::atomic<int> done{0};
  constexpr int kThreads = 4;
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    const std::int32_t owner = pool.owner(seed % 2 == 0 ? "even" : "odd");
    for (int i = 0; i < 5000; ++i) {
      const unsigned long most = 4ul << random() % 18;
      const auto block =
          pool.allocate(static_cast<std::int64_t>(4 + random() % most), owner);
      // Written by one thread and read by another: a race where the pool
      // does not order them.
      if (block) block->data[0] = static_cast<std::byte>(seed);
      const std::lock_guard lock(mutex);
      if (block) handed_over.push_back(*block);
      while (handed_over.size() > 40 || (!block && !handed_over.empty())) {
        std::swap(handed_over[random() % handed_over.size()],
                  handed_over.back());
        pool.release(handed_over.back());
        handed_over.pop_back();
      }
    }
    ++done;
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  std::thread watcher([&] {
    while (done < kThreads) {
      std::int64_t sum = 0;
      for (const Holding& holding : ledger.snapshot()) sum += holding.bytes;
      if (sum > 8 * kMiB || pool.held_bytes() > 8 * kMiB) broken = true;
      pool.trim();
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  watcher.join();
  EXPECT_FALSE(broken);
  for (const Block& block : handed_over) pool.release(block);
  EXPECT_EQ(pool.live_bytes(), 0);
  EXPECT_TRUE(pool.snapshot().empty());
  pool.close();
  EXPECT_EQ(source.mapped_bytes(), 0);
  EXPECT_EQ(ledger.held_bytes(Space::host), 0);
}

}  // namespace
}  // namespace plimsoll::runtime
