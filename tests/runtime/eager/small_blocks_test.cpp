#include "runtime/eager/small_blocks.h"

#include <gtest/gtest.h>

#include <set>

namespace plimsoll::runtime {
namespace {

constexpr std::int64_t kSlab = SmallBlocks::kSlabBytes;

TEST(SmallBlocksTest, ASlabIsFilledToItsLastBlock) {
  for (std::int64_t units = 1; units <= SmallBlocks::kMostUnits; ++units) {
    SmallBlocks blocks;
    EXPECT_EQ(blocks.take(units), -1);
    blocks.add_slab(3 * kSlab, units);
    std::set<std::int64_t> starts;
    for (std::int64_t start; (start = blocks.take(units)) >= 0;) {
      EXPECT_EQ((start - 3 * kSlab) % (units * 64), 0);
      EXPECT_GE(start, 3 * kSlab);
      EXPECT_LE(start + units * 64, 4 * kSlab);
      EXPECT_TRUE(starts.insert(start).second) << start;
    }
    EXPECT_EQ(std::ssize(starts), kSlab / (units * 64));
    for (const std::int64_t start : starts) {
      EXPECT_EQ(blocks.give(start, units), -1);
      EXPECT_EQ(blocks.take(units), start);
    }
    for (const std::int64_t start : starts) {
      EXPECT_EQ(blocks.give(start, units), -1);
    }
    EXPECT_EQ(blocks.take_empty_slab(), 3 * kSlab);
    EXPECT_EQ(blocks.take_empty_slab(), -1);
    EXPECT_EQ(blocks.take(units), -1);
  }
}

TEST(SmallBlocksTest, OneEmptySlabOfASizeStays) {
  constexpr std::int64_t kUnits = 32;
  constexpr std::int64_t kBlocks = kSlab / (kUnits * 64);
  SmallBlocks blocks;
  std::vector<std::int64_t> starts;
  for (std::int64_t slab = 0; slab < 3; ++slab) {
    blocks.add_slab(slab * kSlab, kUnits);
    for (std::int64_t i = 0; i < kBlocks; ++i) {
      starts.push_back(blocks.take(kUnits));
    }
    EXPECT_EQ(blocks.take(kUnits), -1);
  }
  std::vector<std::int64_t> given_back;
  for (const std::int64_t start : starts) {
    const std::int64_t slab = blocks.give(start, kUnits);
    if (slab >= 0) given_back.push_back(slab);
  }
  EXPECT_EQ(given_back, (std::vector<std::int64_t>{kSlab, 2 * kSlab}));
  // Their numbers serve other sizes.
  blocks.add_slab(kSlab, 1);
  EXPECT_EQ(blocks.take(1), kSlab);
  EXPECT_EQ(blocks.take(kUnits), 0);
  EXPECT_EQ(blocks.take_empty_slab(), -1);
}

}  // namespace
}  // namespace plimsoll::runtime
