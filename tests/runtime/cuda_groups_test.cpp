// Which ops share a kernel.
#include "runtime/cuda_groups.h"

#include <gtest/gtest.h>

#include <array>

namespace plimsoll::runtime {
namespace {

class CudaGroups : public ::testing::Test {
 protected:
  MemoryRange buffer(int number) const {
    return {memory.data() + 64 * number, 64};
  }
  GroupItem item(const cuda::Function& function, std::vector<int> reads,
                 std::vector<int> writes) const {
    GroupItem made;
    made.function = &function;
    for (const int number : reads) made.reads.push_back(buffer(number));
    for (const int number : writes) made.writes.push_back(buffer(number));
    made.pointers = static_cast<int>(reads.size() + writes.size());
    return made;
  }

  static cuda::Function function(std::int64_t blocks, double seconds) {
    cuda::Function made;
    made.blocks = blocks;
    made.one_block_seconds = seconds;
    return made;
  }

  std::array<std::byte, 64 * 16> memory{};
  cuda::Function small = function(1, 0.4e-6);
  cuda::Function large = function(100, 100e-6);
};

TEST_F(CudaGroups, SmallOpsThatFollowFromEachOtherShareABlock) {
  const auto groups = group_launches(
      {item(small, {0}, {1}), item(small, {1}, {2}), item(small, {2}, {3})});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].blocks, 1);
  EXPECT_EQ(groups[0].members[0].phase, 0);
  EXPECT_EQ(groups[0].members[1].phase, 1);
  EXPECT_EQ(groups[0].members[2].phase, 2);
  for (const Grouped& member : groups[0].members) {
    EXPECT_EQ(member.first_block, 0);
    EXPECT_EQ(member.blocks, 1);
  }
}

TEST_F(CudaGroups, LargeOpsThatFollowFromEachOtherDoNot) {
  const auto groups =
      group_launches({item(large, {0}, {1}), item(large, {1}, {2})});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].blocks, 100);
}

TEST_F(CudaGroups, IndependentOpsRunBesideEachOther) {
  const auto groups =
      group_launches({item(large, {0}, {1}), item(large, {2}, {3})});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].blocks, 200);
  EXPECT_EQ(groups[0].members[1].phase, 0);
  EXPECT_EQ(groups[0].members[1].first_block, 100);
}

// Memory that one op is done with may be the other's output: the plan knows
// their order, blocks beside each other do not.
TEST_F(CudaGroups, ReuseOfMemoryKeepsTheOrder) {
  const auto reused =
      group_launches({item(small, {0}, {1}), item(small, {2}, {0})});
  ASSERT_EQ(reused.size(), 1u);
  EXPECT_EQ(reused[0].members[1].phase, 1);
  const auto rewritten =
      group_launches({item(large, {0}, {1}), item(large, {2}, {1})});
  EXPECT_EQ(rewritten.size(), 2u);
}

// An update that nothing waits for runs with the next one.
TEST_F(CudaGroups, UpdatesMeetAtTheEnd) {
  GroupItem product = item(small, {5}, {6});
  product.function = nullptr;
  const auto groups =
      group_launches({item(large, {0, 1}, {1}), product,
                      item(large, {6, 2}, {2}), item(small, {4}, {4})});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].members[0].item, 1);
  EXPECT_EQ(groups[1].members.size(), 3u);
  EXPECT_EQ(groups[1].blocks, 201);
}

// Its gradient's memory is taken by what comes later: it stays before that.
TEST_F(CudaGroups, AnUpdateStaysBeforeWhatReusesItsMemory) {
  GroupItem product = item(small, {5}, {0});
  product.function = nullptr;
  const auto groups = group_launches(
      {item(large, {0, 1}, {1}), product, item(large, {0, 2}, {2})});
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].members[0].item, 0);
}

TEST_F(CudaGroups, AProductStandsAlone) {
  GroupItem product = item(small, {1}, {2});
  product.function = nullptr;
  const auto groups =
      group_launches({item(small, {0}, {1}), product, item(small, {2}, {3})});
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[1].members[0].item, 1);
}

TEST_F(CudaGroups, AKernelHasOnlySoManyPointers) {
  std::vector<GroupItem> items(8, item(small, {}, {}));
  for (GroupItem& each : items) each.pointers = cuda::kMostPointers / 4;
  EXPECT_EQ(group_launches(items).size(), 2u);
}

}  // namespace
}  // namespace plimsoll::runtime
