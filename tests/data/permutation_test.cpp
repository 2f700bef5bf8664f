#include "data/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace plimsoll::data {
namespace {

bool permutes(std::int64_t size, std::uint64_t seed, std::uint64_t epoch) {
  const Permutation order(size, seed, epoch);
  std::vector<bool> seen(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t value = order(i);
    if (value < 0 || value >= size) return false;
    if (seen[static_cast<std::size_t>(value)]) return false;
    seen[static_cast<std::size_t>(value)] = true;
  }
  return true;
}

TEST(Permutation, OfEverySize) {
  for (std::int64_t size = 1; size <= 10000; ++size) {
    ASSERT_TRUE(permutes(size, 1, static_cast<std::uint64_t>(size))) << size;
  }
  for (const std::int64_t size :
       {65537, 100003, 1 << 18, 1000000, (1 << 20) + 1, 10000000}) {
    ASSERT_TRUE(permutes(size, 99, 0)) << size;
  }
}

// Where all are too many: a million places, some one after another and some
// far apart. A function that hits values at random would repeat hundreds.
TEST(Permutation, StaysInsideALargeSetAndDoesNotRepeat) {
  constexpr std::int64_t kPlaces = 500000;
  for (const std::int64_t size :
       {std::int64_t{123456789}, std::int64_t{1000000000}}) {
    const Permutation order(size, 3, 5);
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < kPlaces; ++i) {
      values.push_back(order(i));
      values.push_back(order(size - 1 - i * ((size - kPlaces) / kPlaces)));
    }
    std::sort(values.begin(), values.end());
    EXPECT_GE(values.front(), 0);
    EXPECT_LT(values.back(), size);
    EXPECT_EQ(std::unique(values.begin(), values.end()), values.end());
  }
  const std::int64_t huge = (std::int64_t{1} << 62) - 3;
  const Permutation order(huge, 3, 5);
  for (std::int64_t i = 0; i < 1000; ++i) {
    EXPECT_GE(order(huge - 1 - i), 0);
    EXPECT_LT(order(huge - 1 - i), huge);
  }
}

TEST(Permutation, IsSmall) { EXPECT_LT(sizeof(Permutation), 1024u); }

TEST(Permutation, AnotherOneForEveryEpochAndSeed) {
  constexpr std::int64_t kSize = 1000;
  const auto same = [](const Permutation& a, const Permutation& b) {
    int count = 0;
    for (std::int64_t i = 0; i < kSize; ++i) count += a(i) == b(i) ? 1 : 0;
    return count;
  };
  const Permutation first(kSize, 1, 0);
  EXPECT_EQ(same(first, Permutation(kSize, 1, 0)), kSize);
  // Two random orders agree in about one place.
  EXPECT_LT(same(first, Permutation(kSize, 1, 1)), 10);
  EXPECT_LT(same(first, Permutation(kSize, 2, 0)), 10);
}

double chi_square(const std::vector<int>& counts, double expected) {
  double sum = 0;
  for (const int count : counts) {
    sum += (count - expected) * (count - expected) / expected;
  }
  return sum;
}

// What a chi-squared value of so much freedom passes once in a thousand times
// (Wilson and Hilferty).
double rare_chi_square(double freedom) {
  const double spread = 2 / (9 * freedom);
  return freedom * std::pow(1 - spread + 3.0902 * std::sqrt(spread), 3);
}

TEST(Permutation, EveryPlaceIsEquallyLikely) {
  constexpr int kEpochs = 20000;
  for (const std::int64_t size : {2, 3, 5, 7, 10, 33, 100}) {
    std::vector<int> first(static_cast<std::size_t>(size));
    std::vector<int> last(static_cast<std::size_t>(size));
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const Permutation order(size, 42, epoch);
      ++first[static_cast<std::size_t>(order(0))];
      ++last[static_cast<std::size_t>(order(size - 1))];
    }
    const auto cells = static_cast<double>(size);
    EXPECT_LT(chi_square(first, kEpochs / cells), rare_chi_square(cells - 1))
        << size;
    EXPECT_LT(chi_square(last, kEpochs / cells), rare_chi_square(cells - 1))
        << size;
  }
}

// Over 100,000 shuffles: how often each element has each place, and how often
// each follows each other one.
void expect_uniform(std::size_t size) {
  constexpr int kShuffles = 100000;
  const auto n = static_cast<double>(size);
  const double expected = kShuffles / n;
  std::vector<int> places(size * size);
  std::vector<int> followers(size * size);
  for (std::uint64_t epoch = 0; epoch < kShuffles; ++epoch) {
    const Permutation order(static_cast<std::int64_t>(size), 2026, epoch);
    std::size_t before = size;
    for (std::size_t place = 0; place < size; ++place) {
      const auto element =
          static_cast<std::size_t>(order(static_cast<std::int64_t>(place)));
      ++places[place * size + element];
      if (before < size) ++followers[before * size + element];
      before = element;
    }
  }
  const double freedom = (n - 1) * (n - 1);
  // Rows and columns of `places` have fixed sums, which widens the rest.
  EXPECT_LT(chi_square(places, expected) * (n - 1) / n,
            rare_chi_square(freedom));
  // Nobody follows itself. Of the others the sum has the mean (n - 1)^2 and,
  // as pairs exclude each other, twice this variance: a chi-squared value of
  // somewhat less freedom, stretched.
  std::vector<int> pairs;
  for (std::size_t i = 0; i < followers.size(); ++i) {
    if (i % (size + 1) == 0) {
      EXPECT_EQ(followers[i], 0);
    } else {
      pairs.push_back(followers[i]);
    }
  }
  const double half_variance =
      n * (n - 1) *
      ((1 - 1 / n) * (1 - 1 / n) + (2 * n - 3) / (n * n) +
       (n * (n - 1) - 2 * n + 2) / (n * n * (n - 1) * (n - 1)));
  const double stretch = half_variance / freedom;
  EXPECT_LT(chi_square(pairs, expected) / stretch,
            rare_chi_square(freedom / stretch));
}

TEST(Permutation, PlacesAndNeighboursAreUniform) {
  for (const std::size_t size : {50, 128}) {
    SCOPED_TRACE(size);
    expect_uniform(size);
  }
}

TEST(Permutation, NeighboursAreScattered) {
  // Cells of (place of i, place of i + 1) over a coarse grid.
  constexpr std::int64_t kSize = 100000;
  const Permutation order(kSize, 7, 1);
  std::vector<int> cells(256);
  for (std::int64_t i = 0; i + 1 < kSize; ++i) {
    const auto row = order(i) * 16 / kSize;
    const auto column = order(i + 1) * 16 / kSize;
    ++cells[static_cast<std::size_t>(row * 16 + column)];
  }
  EXPECT_LT(chi_square(cells, kSize / 256.0), rare_chi_square(255));
}

}  // namespace
}  // namespace plimsoll::data
