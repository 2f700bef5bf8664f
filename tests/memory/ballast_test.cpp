#include "memory/ballast.h"

#include <gtest/gtest.h>

#include "counting_source.h"

namespace plimsoll {
namespace {

TEST(BallastTest, LeavesTheRoomAndNotAPageMore) {
  CountingSource source(1000 * 4096);
  {
    Ballast ballast(source, 10 * 4096 + 4095);
    EXPECT_EQ(ballast.bytes(), 990 * 4096);
    EXPECT_EQ(source.mapped_bytes(), 990 * 4096);
    EXPECT_EQ(source.map(11 * 4096), nullptr);
    void* all = source.map(10 * 4096);
    ASSERT_NE(all, nullptr);
    source.unmap(all, 10 * 4096);
    const Ballast moved = std::move(ballast);
    EXPECT_EQ(moved.bytes(), 990 * 4096);
  }
  EXPECT_EQ(source.mapped_bytes(), 0);
}

TEST(BallastTest, NoRoomAndLessThanTheRoom) {
  CountingSource source(8 * 4096);
  EXPECT_EQ(Ballast(source, -5).bytes(), 8 * 4096);
  EXPECT_EQ(Ballast(source, 9 * 4096).bytes(), 0);
  EXPECT_EQ(source.mapped_bytes(), 0);
}

}  // namespace
}  // namespace plimsoll
