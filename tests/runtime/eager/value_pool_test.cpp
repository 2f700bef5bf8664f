#include "runtime/eager/value_pool.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include "base/units.h"
#include "device/cpu/host_memory_source.h"
#include "device/cpu/process_memory.h"
#include "device/null/null_memory_source.h"
#include "memory/counting_source.h"

namespace plimsoll::runtime {
namespace {

TEST(ValuePoolTest, BlocksAreAlignedAndTheirOwn) {
  HostMemorySource source;
  Ledger ledger;
  ValuePool pool(source, ledger);
  std::mt19937 random(3);
  std::vector<Block> blocks;
  const auto mark = [](const Block& block) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(block.data) >> 6 &
                            0x7f);
  };
  const auto drop_one = [&] {
    std::swap(blocks[random() % blocks.size()], blocks.back());
    const Block block = blocks.back();
    blocks.pop_back();
    for (const std::int64_t at : {std::int64_t{0}, block.bytes / 2}) {
      ASSERT_EQ(static_cast<int>(block.data[at]), mark(block));
    }
    ASSERT_EQ(static_cast<int>(block.data[block.bytes - 1]), mark(block));
    pool.release(block);
  };
  for (int i = 0; i < 20000; ++i) {
    const unsigned long most = 4ul << random() % 17;
    const auto block =
        pool.allocate(static_cast<std::int64_t>(1 + random() % most));
    ASSERT_TRUE(block.ok()) << block.error().message;
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block->data) % 64, 0u);
    std::memset(block->data, mark(*block),
                static_cast<std::size_t>(block->bytes));
    blocks.push_back(*block);
    ASSERT_EQ(pool.held_bytes(), source.mapped_bytes());
    ASSERT_EQ(pool.held_bytes(), ledger.held_bytes(Space::host));
    if (blocks.size() > 500) drop_one();
    if (HasFatalFailure()) return;
  }
  while (!blocks.empty() && !HasFatalFailure()) drop_one();
  EXPECT_EQ(pool.live_bytes(), 0);
  pool.trim();
  EXPECT_EQ(pool.held_bytes(), 0);
  EXPECT_EQ(source.mapped_bytes(), 0);
  EXPECT_EQ(ledger.held_bytes(Space::host), 0);
}

TEST(ValuePoolTest, WhatTheSystemSeesIsWhatIsHeld) {
  const auto reader = ProcessMemoryReader::open_self();
  ASSERT_TRUE(reader.ok());
  HostMemorySource source;
  Ledger ledger;
  ValuePool pool(source, ledger);
  ASSERT_TRUE(pool.allocate(1).ok());
  ProcessMemory before, held, after;
  ASSERT_TRUE(reader->read(before));
  const std::int64_t first_bytes = pool.held_bytes();
  const Block block = *pool.allocate(50 * kMiB);
  ASSERT_TRUE(reader->read(held));
  const std::int64_t held_bytes = pool.held_bytes();
  pool.release(block);
  pool.trim();
  ASSERT_TRUE(reader->read(after));
#if !defined(PLIMSOLL_SANITIZED)
  constexpr std::int64_t kSlack = 64 * kKiB;  // nodes and the reader's own
  EXPECT_LE(std::abs(held.anonymous_bytes - before.anonymous_bytes -
                     (held_bytes - first_bytes)),
            kSlack);
  EXPECT_LE(std::abs(after.anonymous_bytes - before.anonymous_bytes), kSlack);
#endif
  EXPECT_EQ(held_bytes - first_bytes, 50 * kMiB);
}

TEST(ValuePoolTest, AFreedBlockServesTheNextThatFits) {
  for (const std::int64_t bytes :
       {std::int64_t{4}, std::int64_t{2048}, 20 * kKiB, 64 * kKiB, 3 * kMiB}) {
    HostMemorySource source;
    Ledger ledger;
    ValuePool pool(source, ledger);
    const Block first = *pool.allocate(bytes);
    const std::int64_t charges = ledger.charges();
    pool.release(first);
    const Block same = *pool.allocate(bytes);
    EXPECT_EQ(same.data, first.data);
    pool.release(same);
    EXPECT_EQ(ledger.charges(), charges);
    if (bytes <= 2048) continue;  // slabs are of one size
    const Block smaller = *pool.allocate(bytes * 3 / 4);
    EXPECT_EQ(smaller.data, first.data);
    EXPECT_EQ(ledger.charges(), charges);
  }
}

TEST(ValuePoolTest, TheLimitHoldsAndTheSmallerStillWorks) {
  NullMemorySource source(kGiB, 4096);
  Ledger ledger;
  ledger.set_limit(Space::host, 64 * kMiB);
  ValuePool pool(source, ledger);
  const std::int32_t encoder = pool.owner("encoder");
  const Block kept = *pool.allocate(40 * kMiB, encoder);
  const Block freed = *pool.allocate(20 * kMiB);
  pool.release(freed);
  // Free memory is in the way and goes.
  const auto other = pool.allocate(22 * kMiB, encoder);
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_LE(source.peak_mapped_bytes(), 64 * kMiB);

  const auto refused = pool.allocate(3 * kMiB, pool.owner("decoder"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::over_budget);
  for (const char* part : {"\"decoder\" asks for", "\"encoder\"", "62.0 MiB"}) {
    EXPECT_NE(refused.error().message.find(part), std::string::npos)
        << part << " in " << refused.error().message;
  }
  EXPECT_EQ(pool.live_bytes(), 62 * kMiB);
  EXPECT_EQ(pool.held_bytes(), source.mapped_bytes());
  EXPECT_EQ(pool.held_bytes(), ledger.held_bytes(Space::host));
  EXPECT_TRUE(pool.allocate(kMiB).ok());
  pool.release(kept);
  EXPECT_TRUE(pool.allocate(41 * kMiB).ok());
  pool.close();
  EXPECT_EQ(source.mapped_bytes(), 0);
}

TEST(ValuePoolTest, WhileLittleIsAliveTheBoundSinks) {
  NullMemorySource source(kGiB, 4096);
  Ledger ledger;
  ValuePool pool(source, ledger);
  const Block first = *pool.allocate(2 * kMiB);
  ASSERT_TRUE(pool.allocate(128 * kKiB).ok());
  pool.release(first);
  const Block larger = *pool.allocate(3 * kMiB);
  EXPECT_EQ(pool.held_bytes(), 5 * kMiB + 128 * kKiB);
  pool.release(larger);
  const std::int64_t peak = pool.peak_live_bytes();
  EXPECT_LE(pool.held_bytes(), peak + peak / 10);
}

TEST(ValuePoolTest, TheSystemsRefusalIsAnErrorToo) {
  NullMemorySource source(10 * kMiB, 4096);
  Ledger ledger;
  ValuePool pool(source, ledger);
  const Block freed = *pool.allocate(6 * kMiB);
  const Block kept = *pool.allocate(3 * kMiB);
  pool.release(freed);
  const auto refused = pool.allocate(8 * kMiB);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::over_budget);
  EXPECT_NE(refused.error().message.find("system refused"), std::string::npos);
  EXPECT_EQ(source.mapped_bytes(), 3 * kMiB);
  EXPECT_EQ(ledger.held_bytes(Space::host), 3 * kMiB);
  EXPECT_TRUE(pool.allocate(7 * kMiB).ok());
  EXPECT_EQ(kept.bytes, 3 * kMiB);
  pool.close();
  EXPECT_EQ(source.mapped_bytes(), 0);
}

TEST(ValuePoolTest, BytesAreCountedByOwner) {
  NullMemorySource source(kGiB, 4096);
  Ledger ledger;
  ValuePool pool(source, ledger);
  const std::int32_t a = pool.owner("a");
  EXPECT_EQ(pool.owner("a"), a);
  EXPECT_NE(pool.owner("b"), a);
  EXPECT_EQ(pool.owner("eager"), 0);
  const Block one = *pool.allocate(1000, a);
  const Block two = *pool.allocate(kMiB, pool.owner("b"));
  const Block three = *pool.allocate(4);
  const auto holding = [](const char* owner, std::int64_t bytes) {
    return Holding{owner, Purpose::activations, Space::host, bytes};
  };
  EXPECT_EQ(pool.snapshot(),
            (std::vector<Holding>{holding("b", kMiB), holding("a", 1024),
                                  holding("eager", 64)}));
  // The ledger shows the same, and the rest of what is held.
  std::vector<Holding> expected = pool.snapshot();
  const std::int64_t rest = pool.held_bytes() - pool.live_bytes();
  ASSERT_GT(rest, 1024);
  expected.insert(expected.begin() + 1,
                  {"eager", Purpose::cache, Space::host, rest});
  EXPECT_EQ(ledger.snapshot(), expected);
  pool.release(two);
  EXPECT_EQ(pool.snapshot(),
            (std::vector<Holding>{holding("a", 1024), holding("eager", 64)}));
  pool.release(one);
  pool.release(three);
  EXPECT_TRUE(pool.snapshot().empty());
  EXPECT_EQ(pool.allocate(64, 99).error().code, ErrorCode::bad_input);
  EXPECT_EQ(pool.allocate(64, -1).error().code, ErrorCode::bad_input);
}

TEST(ValuePoolTest, AfterCloseAllIsAsBefore) {
  HostMemorySource source;
  Ledger ledger;
  const auto other =
      ledger.charge({"other", Purpose::user, Space::host, 12345});
  std::vector<Block> blocks;
  {
    ValuePool pool(source, ledger);
    for (std::int64_t bytes = 4; bytes < 8 * kMiB; bytes *= 3) {
      blocks.push_back(*pool.allocate(bytes));
    }
    pool.release(blocks[3]);
    EXPECT_FALSE(pool.closed());
    pool.close();
    EXPECT_TRUE(pool.closed());
    EXPECT_EQ(source.mapped_bytes(), 0);
    EXPECT_EQ(ledger.held_bytes(Space::host), 12345);
    EXPECT_EQ(ledger.snapshot().size(), 1u);
    for (const Block& block : blocks) pool.release(block);
    pool.trim();
    pool.close();
    EXPECT_EQ(pool.live_bytes(), 0);
    EXPECT_EQ(pool.held_bytes(), 0);
    EXPECT_GT(pool.peak_live_bytes(), 4 * kMiB);
    EXPECT_EQ(pool.allocate(4).error().code, ErrorCode::bad_input);
  }
  {
    ValuePool pool(source, ledger);
    ASSERT_TRUE(pool.allocate(kMiB).ok());
  }
  EXPECT_EQ(source.mapped_bytes(), 0);
  EXPECT_EQ(ledger.held_bytes(Space::host), 12345);
}

TEST(ValuePoolTest, OddSizes) {
  NullMemorySource source(kGiB, 4096);
  Ledger ledger;
  ValuePool pool(source, ledger);
  pool.release({});
  const auto nothing = pool.allocate(0);
  ASSERT_TRUE(nothing.ok());
  EXPECT_NE(nothing->data, nullptr);
  pool.release(*nothing);
  EXPECT_EQ(pool.allocate(-1).error().code, ErrorCode::bad_input);
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t bytes : {kMost, kMost / 2, 2048 * kGiB, 2 * kGiB}) {
    EXPECT_FALSE(pool.allocate(bytes).ok()) << bytes;
  }
  EXPECT_EQ(pool.live_bytes(), 0);
  EXPECT_TRUE(pool.allocate(kMiB).ok());
}

TEST(ValuePoolTest, ASourceWithoutAddressesIsNamed) {
  CountingSource source(kGiB);
  Ledger ledger;
  ValuePool pool(source, ledger);
  const auto refused = pool.allocate(64);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
}

TEST(ValuePoolTest, LargeGranulesServeSmallBlocks) {
  NullMemorySource source(kGiB, 2 * kMiB);  // as a device has them
  Ledger ledger;
  ValuePool pool(source, ledger, Space::device);
  std::vector<Block> blocks;
  for (std::int64_t bytes = 64; bytes <= 2048; bytes += 64) {
    blocks.push_back(*pool.allocate(bytes));
  }
  EXPECT_EQ(pool.held_bytes(), 2 * kMiB);
  EXPECT_EQ(ledger.held_bytes(Space::device), 2 * kMiB);
  for (const Block& block : blocks) pool.release(block);
  pool.trim();
  EXPECT_EQ(source.mapped_bytes(), 0);
}

}  // namespace
}  // namespace plimsoll::runtime
