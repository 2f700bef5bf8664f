#include "device/cpu/compute_threads.h"

#include <gtest/gtest.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "device/cpu/process_memory.h"

namespace plimsoll {
namespace {

TEST(ComputeThreadsTest, EveryChunkRunsOnce) {
  for (const int threads : {1, 2, 4}) {
    ComputeThreads pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (const std::int64_t chunks : {0, 1, 2, 3, 4, 17, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(chunks));
      auto count = [&](std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; };
      pool.enter([&] { pool.for_each_chunk(chunks, count); });
      for (const auto& n : runs) ASSERT_EQ(n, 1) << threads << "/" << chunks;
    }
  }
}

TEST(ComputeThreadsTest, WhatChunksWriteIsSeenAfterwards) {
  ComputeThreads pool(2);
  std::vector<std::int64_t> squares(64, -1);
  auto fill = [&](std::int64_t i) {
    squares[static_cast<std::size_t>(i)] = i * i;
  };
  pool.enter([&] {
    for (int round = 0; round < 100; ++round) {
      std::fill(squares.begin(), squares.end(), -1);
      pool.for_each_chunk(64, fill);
      for (std::int64_t i = 0; i < 64; ++i) {
        ASSERT_EQ(squares[static_cast<std::size_t>(i)], i * i);
      }
    }
  });
}

TEST(ComputeThreadsTest, TheCallerIsOneOfNoMoreThanNThreads) {
  ComputeThreads pool(3);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  auto note = [&](std::int64_t) {
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  };
  pool.enter([&] {
    EXPECT_EQ(pool.size(), 3);
    for (int round = 0; round < 200; ++round) pool.for_each_chunk(30, note);
  });
  EXPECT_LE(seen.size(), 3u);
  EXPECT_TRUE(seen.contains(std::this_thread::get_id()));
}

TEST(ComputeThreadsTest, NestedUseFinishes) {
  ComputeThreads pool(2);
  std::atomic<int> runs{0};
  auto inner = [&](std::int64_t) { ++runs; };
  auto outer = [&](std::int64_t) {
    pool.enter([&] { pool.for_each_chunk(5, inner); });
  };
  pool.enter([&] { pool.for_each_chunk(7, outer); });
  EXPECT_EQ(runs, 35);
}

// A body that waits for chunks of its own is not interrupted by a sibling:
// otherwise a thread's scratch would have two users.
TEST(ComputeThreadsTest, WaitingTakesNoOtherWork) {
  ComputeThreads pool(2);
  static thread_local bool busy = false;
  std::atomic<int> intrusions{0};
  // Long enough that the other thread takes one, so that this one must wait.
  auto inner = [](std::int64_t) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  };
  auto outer = [&](std::int64_t) {
    if (busy) ++intrusions;
    busy = true;
    pool.for_each_chunk(2, inner);
    busy = false;
  };
  pool.enter([&] {
    for (int round = 0; round < 50; ++round) pool.for_each_chunk(8, outer);
  });
  EXPECT_EQ(intrusions, 0);
}

TEST(ComputeThreadsTest, WarmUpStartsTheThreads) {
  ComputeThreads pool(2);
  pool.warm_up();
  pool.warm_up();  // harmless again
  std::atomic<int> runs{0};
  auto count = [&](std::int64_t) { ++runs; };
  pool.enter([&] { pool.for_each_chunk(2, count); });
  EXPECT_EQ(runs, 2);
}

TEST(ComputeThreadsTest, PoolsMayFollowAndOverlap) {
  ComputeThreads first(2);
  std::atomic<int> runs{0};
  auto count = [&](std::int64_t) { ++runs; };
  {
    ComputeThreads second(1);
    second.warm_up();
    first.warm_up();  // capped by the other pool: it may not wait for ever
    first.enter([&] { first.for_each_chunk(10, count); });
  }
  first.enter([&] { first.for_each_chunk(10, count); });
  EXPECT_EQ(runs, 20);
  EXPECT_EQ(ComputeThreads(0).size(), 1);
}

// What oneDNN does with its threads: fixed shares, each with a message to its
// thread. One that is kept from running reads none.
TEST(ComputeThreadsTest, MessagesThatNobodyReadsTakeNoNewMemory) {
  constexpr auto kPatience = std::chrono::seconds(20);
  constexpr int kCalls = 200;
  ComputeThreads pool(2);
  pool.warm_up();
  auto reader = ProcessMemoryReader::open_self();
  ASSERT_TRUE(reader.ok());
  const auto caller = std::this_thread::get_id();
  std::atomic<int> arrived{0};
  std::atomic<bool> kept{false};
  std::atomic<bool> done{false};
  ProcessMemory before, after;
  ASSERT_TRUE(reader->read(before));  // its own first steps
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  auto body = [&](std::int64_t) {
    ++arrived;
    while (arrived < 2 && std::chrono::steady_clock::now() < deadline) {
    }
    if (std::this_thread::get_id() != caller) {
      kept = true;
      while (!done) std::this_thread::yield();
      return;
    }
    ASSERT_TRUE(reader->read(before));
    for (int call = 0; call < kCalls; ++call) {
      tbb::parallel_for(
          0, 2, [](int) {}, tbb::static_partitioner());
    }
    ASSERT_TRUE(reader->read(after));
    done = true;
  };
  pool.enter([&] { pool.for_each_chunk(2, body); });
  ASSERT_TRUE(kept) << "the second thread never came";
#if !defined(PLIMSOLL_SANITIZED)
  EXPECT_EQ(after.anonymous_bytes, before.anonymous_bytes);
#endif
}

}  // namespace
}  // namespace plimsoll
