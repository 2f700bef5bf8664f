#include "runtime/eager/range_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace plimsoll::runtime {
namespace {

constexpr std::int64_t kUnit = 64;
constexpr std::int64_t kGranule = 256;

// The same in the plainest form: two flags for each unit.
struct Model {
  explicit Model(std::int64_t bytes)
      : used(static_cast<std::size_t>(bytes / kUnit)), memory(used.size()) {}

  void set(std::vector<bool>& flags, Range range, bool value) {
    for (std::int64_t at = range.start; at < range.end(); at += kUnit) {
      const auto unit = static_cast<std::size_t>(at / kUnit);
      ASSERT_NE(flags.at(unit), value) << at;
      flags[unit] = value;
    }
  }
  std::int64_t committed() const {
    return std::count(memory.begin(), memory.end(), true) * kUnit;
  }
  std::vector<bool> used;
  std::vector<bool> memory;
};

void expect_the_same(const RangeHeap& heap, const Model& model) {
  std::vector<bool> memory(model.memory.size());
  heap.for_each_committed([&](Range range) {
    EXPECT_EQ(range.start % kGranule, 0);
    EXPECT_EQ(range.bytes % kGranule, 0);
    for (std::int64_t at = range.start; at < range.end(); at += kUnit) {
      memory[static_cast<std::size_t>(at / kUnit)] = true;
    }
  });
  EXPECT_EQ(memory, model.memory);
}

TEST(RangeHeapTest, RandomBlocksAgreeWithTwoFlagsAUnit) {
  constexpr std::int64_t kBytes = 64 * 1024;
  RangeHeap heap(kBytes, kGranule);
  Model model(kBytes);
  std::mt19937 random(7);
  std::vector<Range> blocks;
  std::vector<Range> bare;
  int refused = 0, reused = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto kind = random() % 8;
    if (kind < 4) {
      const auto bytes = static_cast<std::int64_t>(random() % 40 + 1) * kUnit;
      const std::int64_t alignment = random() % 4 == 0 ? 1024 : kUnit;
      std::int64_t start = heap.take(bytes, alignment);
      if (start >= 0) {
        ++reused;
      } else {
        start = heap.place(bytes, alignment);
        if (start < 0) {
          ++refused;
          continue;
        }
        heap.claim({start, bytes}, bare);
        if (random() % 8 == 0) {
          heap.unclaim({start, bytes}, bare);
          continue;
        }
        heap.commit({start, bytes}, bare);
        for (const Range& range : bare) model.set(model.memory, range, true);
      }
      ASSERT_EQ(start % alignment, 0);
      blocks.push_back({start, bytes});
      model.set(model.used, blocks.back(), true);
    } else if (kind < 7 && !blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      heap.give(blocks.back());
      model.set(model.used, blocks.back(), false);
      blocks.pop_back();
    } else {
      const Range range = heap.drop(static_cast<std::int64_t>(random() % 2000));
      model.set(model.memory, range, false);
      for (std::int64_t at = range.start; at < range.end(); at += kUnit) {
        ASSERT_FALSE(model.used[static_cast<std::size_t>(at / kUnit)]);
      }
    }
    if (HasFatalFailure()) return;
    if (i % 100 == 0) expect_the_same(heap, model);
  }
  EXPECT_GT(reused, 1000);
  EXPECT_GT(refused, 100);
  for (const Range& block : blocks) heap.give(block);
  while (heap.can_drop()) model.set(model.memory, heap.drop(1 << 20), false);
  EXPECT_EQ(model.committed(), 0);
  // One piece again.
  EXPECT_EQ(heap.place(kBytes, kUnit), 0);
}

TEST(RangeHeapTest, TakesWhatFitsBestAndMerges) {
  RangeHeap heap(64 * 1024, kGranule);
  std::vector<Range> bare;
  heap.claim({0, 4096}, bare);
  EXPECT_EQ(bare, (std::vector<Range>{{0, 4096}}));
  heap.commit({0, 4096}, bare);
  heap.give({0, 512});
  heap.give({1024, 1024});
  heap.give({3072, 640});
  EXPECT_EQ(heap.take(576, kUnit), 3072);
  EXPECT_EQ(heap.take(512, kUnit), 0);
  EXPECT_EQ(heap.take(2048, kUnit), -1);
  heap.give({2048, 1024});
  EXPECT_EQ(heap.take(2048, kUnit), 1024);
}

TEST(RangeHeapTest, OnlyWholeGranulesAreDropped) {
  RangeHeap heap(64 * 1024, kGranule);
  std::vector<Range> bare;
  heap.claim({0, 1024}, bare);
  heap.commit({0, 1024}, bare);
  heap.give({64, 384});  // 256 to 448: no whole granule
  EXPECT_FALSE(heap.can_drop());
  heap.give({448, 128});
  EXPECT_EQ(heap.drop(1), (Range{256, 256}));
  EXPECT_FALSE(heap.can_drop());
  // What is left of the range is still at hand, in two pieces.
  EXPECT_EQ(heap.take(192, kUnit), 64);
  EXPECT_EQ(heap.take(64, kUnit), 512);
}

}  // namespace
}  // namespace plimsoll::runtime
