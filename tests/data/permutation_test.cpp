#include "data/permutation.h"

#include <gtest/gtest.h>

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
  for (std::int64_t size = 1; size <= 2000; ++size) {
    ASSERT_TRUE(permutes(size, 1, static_cast<std::uint64_t>(size))) << size;
  }
  for (const std::int64_t size : {4095, 4096, 4097, 65537, 100003, 1 << 18}) {
    ASSERT_TRUE(permutes(size, 99, 0)) << size;
  }
}

TEST(Permutation, StaysInsideALargeSetAndDoesNotRepeat) {
  for (const std::int64_t size :
       {std::int64_t{1000000000}, (std::int64_t{1} << 40) + 1}) {
    const Permutation order(size, 3, 5);
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < 5000; ++i) {
      values.push_back(order(size - 1 - i));
      ASSERT_GE(values.back(), 0);
      ASSERT_LT(values.back(), size);
    }
    std::sort(values.begin(), values.end());
    EXPECT_EQ(std::unique(values.begin(), values.end()), values.end());
  }
}

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

// Five standard deviations above the mean of the distribution.
double chi_square_limit(double cells) {
  const double freedom = cells - 1;
  return freedom + 5 * std::sqrt(2 * freedom);
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
    EXPECT_LT(chi_square(first, kEpochs / cells), chi_square_limit(cells))
        << size;
    EXPECT_LT(chi_square(last, kEpochs / cells), chi_square_limit(cells))
        << size;
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
  EXPECT_LT(chi_square(cells, kSize / 256.0), chi_square_limit(256));
}

}  // namespace
}  // namespace plimsoll::data
