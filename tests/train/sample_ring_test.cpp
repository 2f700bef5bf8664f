#include "train/sample_ring.h"

#include <gtest/gtest.h>

#include <array>

namespace plimsoll::train {
namespace {

class SampleRingTest : public ::testing::Test {
 protected:
  // A copy of two sums, taken when `position` examples are in.
  bool ask(double sum, std::int64_t position) {
    const auto slot = ring_.next();
    if (!slot) return false;
    ring_.slot(*slot)[0] = sum;
    ring_.slot(*slot)[1] = 2 * sum;
    ring_.ask(position);
    return true;
  }
  Sample newest() {
    return ring_.newest([&](std::size_t slot) {
      return arrived_ > 0 && slot < static_cast<std::size_t>(arrived_);
    });
  }

  std::array<double, 2 * SampleRing::kSlots> room_{};
  SampleRing ring_{room_.data(), 2};
  int arrived_ = 0;  // slots from the first
};

TEST_F(SampleRingTest, ASumKeepsThePositionItBelongsTo) {
  EXPECT_EQ(newest().position, 0);
  ASSERT_TRUE(ask(3, 32));
  ASSERT_TRUE(ask(5, 64));
  ASSERT_TRUE(ask(7, 96));
  EXPECT_EQ(newest().position, 0) << "none has arrived";
  arrived_ = 2;
  const Sample second = newest();
  EXPECT_EQ(second.position, 64);
  EXPECT_EQ(second.values[0], 5);
  EXPECT_EQ(second.values[1], 10);
  EXPECT_EQ(newest().position, 64) << "the same until another arrives";
  arrived_ = 3;
  EXPECT_EQ(newest().position, 96);
}

TEST_F(SampleRingTest, AFullRingTakesNoMoreUntilOneArrives) {
  for (int i = 1; i <= 4; ++i) ASSERT_TRUE(ask(i, 32 * i));
  EXPECT_FALSE(ask(9, 999));
  arrived_ = 1;
  EXPECT_EQ(newest().position, 32);
  EXPECT_TRUE(ask(9, 999));
}

TEST_F(SampleRingTest, WhatAnEpochLeftIsDropped) {
  ASSERT_TRUE(ask(3, 32));
  ASSERT_TRUE(ask(5, 64));
  arrived_ = 1;
  EXPECT_EQ(newest().position, 32);
  ring_.drop();
  arrived_ = 4;
  EXPECT_EQ(newest().position, 0);
  ASSERT_TRUE(ask(1, 16));
  EXPECT_EQ(newest().position, 16);
  EXPECT_EQ(newest().values[0], 1);
}

}  // namespace
}  // namespace plimsoll::train
