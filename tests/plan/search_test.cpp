#include "plan/search.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace plimsoll::plan {
namespace {

using Answer = std::optional<std::int64_t>;

Answer with_limit(std::int64_t low, std::int64_t high, std::int64_t limit,
                  int* calls = nullptr) {
  const auto found =
      smallest_failing(low, high, [&](std::int64_t n) -> Result<bool> {
        EXPECT_GE(n, low);
        EXPECT_LE(n, high);
        if (calls) ++*calls;
        return n < limit;
      });
  EXPECT_TRUE(found);
  return *found;
}

TEST(SmallestFailing, FindsEveryLimit) {
  for (std::int64_t limit = 0; limit <= 70; ++limit) {
    const Answer expected =
        limit > 64 ? Answer() : Answer(std::max<std::int64_t>(limit, 1));
    EXPECT_EQ(with_limit(1, 64, limit), expected) << limit;
  }
}

TEST(SmallestFailing, TakesFewCalls) {
  int calls = 0;
  EXPECT_EQ(with_limit(1, 65536, 40000, &calls), 40000);
  EXPECT_LE(calls, 36);
}

TEST(SmallestFailing, EdgesOfTheRange) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(with_limit(5, 5, 5), 5);
  EXPECT_EQ(with_limit(5, 5, 6), Answer());
  EXPECT_EQ(with_limit(6, 5, 0), Answer());
  EXPECT_EQ(with_limit(kLeast, kMost, 17), 17);
  EXPECT_EQ(with_limit(kLeast, kMost, kMost), kMost);
}

TEST(SmallestFailing, AnswerIsAnEdgeEvenWhenNotMonotone) {
  const auto fits = [](std::int64_t n) -> Result<bool> { return n % 100 < 50; };
  const auto found = smallest_failing(1, 1000, fits);
  ASSERT_TRUE(found);
  ASSERT_TRUE(found->has_value());
  EXPECT_FALSE(*fits(**found));
  EXPECT_TRUE(*fits(**found - 1));
}

TEST(SmallestFailing, ErrorsComeThrough) {
  const auto found =
      smallest_failing(1, 100, [](std::int64_t n) -> Result<bool> {
        if (n > 20) return Error{ErrorCode::unsupported, "no kernel"};
        return true;
      });
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "no kernel");
}

}  // namespace
}  // namespace plimsoll::plan
