#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "memory/ledger.h"

namespace plimsoll {
namespace {

TEST(LedgerThreadsTest, NeverPassesTheLimitAndLosesNothing) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  constexpr std::int64_t kLimit = 250;
  Ledger ledger;
  ledger.set_limit(Space::host, kLimit);
  std::atomic<std::int64_t> granted{0};
  std::atomic<std::int64_t> refused{0};
  std::atomic<bool> broken{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<LedgerEntry> mine;
      for (int i = 0; i < kRounds; ++i) {
        auto entry = ledger.charge({"thread", Purpose::user,
                                    t % 2 == 0 ? Space::host : Space::pinned,
                                    1 + i % 50});
        if (ledger.held_bytes(Space::host) > kLimit) broken = true;
        if (entry) {
          ++granted;
          mine.push_back(*std::move(entry));
        } else {
          ++refused;
        }
        if (mine.size() > 3 || !entry) mine.clear();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(broken);
  EXPECT_EQ(granted + refused, kThreads * kRounds);
  EXPECT_EQ(ledger.charges(), granted);
  EXPECT_EQ(ledger.held_bytes(Space::host), 0);
  EXPECT_EQ(ledger.held_bytes(Space::pinned), 0);
  EXPECT_LE(ledger.peak_bytes(Space::host), kLimit);
  EXPECT_GT(ledger.peak_bytes(Space::host), 0);
  EXPECT_TRUE(ledger.snapshot().empty());
}

TEST(LedgerThreadsTest, EntriesMayEndOnOtherThreads) {
  Ledger ledger;
  std::vector<LedgerEntry> entries;
  for (int i = 0; i < 100; ++i) {
    entries.push_back(*ledger.charge({"x", Purpose::user, Space::host, 10}));
  }
  std::thread first([&] {
    for (std::size_t i = 0; i < 50; ++i) entries[i].release();
  });
  for (std::size_t i = 50; i < 100; ++i) entries[i].release();
  first.join();
  EXPECT_EQ(ledger.held_bytes(Space::host), 0);
}

}  // namespace
}  // namespace plimsoll
