#include "device/cpu/memory_trend.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(MemoryTrendTest, IgnoresStartingUp) {
  MemoryTrend trend;
  for (int i = 0; i <= 100; ++i) {
    trend.add(i, i < 40 ? i * 1000000 : 40000000);
  }
  EXPECT_NEAR(trend.growth_bytes_per_minute(), 0, 1e-6);
  EXPECT_EQ(trend.seconds_until(50000000), std::nullopt);
  EXPECT_EQ(trend.seconds_until(30000000), 0.0);
}

TEST(MemoryTrendTest, FindsASlopeAndWhenItReachesTheLine) {
  MemoryTrend trend;
  for (int i = 0; i <= 200; ++i) trend.add(i * 0.1, 5000 + i * 100);
  EXPECT_NEAR(trend.growth_bytes_per_minute(), 60000, 1e-6);
  const auto left = trend.seconds_until(5000 + 20000 + 7000);
  ASSERT_TRUE(left.has_value());
  EXPECT_NEAR(*left, 7, 1e-6);
}

TEST(MemoryTrendTest, ShrinkingNeverReachesTheLine) {
  MemoryTrend trend;
  for (int i = 0; i <= 20; ++i) trend.add(i, 1000 - i);
  EXPECT_NEAR(trend.growth_bytes_per_minute(), -60, 1e-6);
  EXPECT_EQ(trend.seconds_until(2000), std::nullopt);
}

TEST(MemoryTrendTest, TooFewPointsSayNothing) {
  MemoryTrend trend;
  EXPECT_EQ(trend.growth_bytes_per_minute(), 0);
  EXPECT_EQ(trend.seconds_until(1), std::nullopt);
  trend.add(0, 0);
  trend.add(1, 1000000);
  EXPECT_EQ(trend.growth_bytes_per_minute(), 0);
}

TEST(MemoryTrendTest, LongRunsKeepTheirSlope) {
  MemoryTrend trend;
  for (int i = 0; i < 100000; ++i) trend.add(i, std::int64_t{3} * i);
  EXPECT_NEAR(trend.growth_bytes_per_minute(), 180, 1e-3);
  EXPECT_NEAR(*trend.seconds_until(3 * 99999 + 300), 100, 1e-2);
}

}  // namespace
}  // namespace plimsoll
