#include "base/philox.h"

#include <gtest/gtest.h>

#include <limits>

namespace plimsoll {
namespace {

constexpr std::uint32_t kOnes = 0xffffffffu;
constexpr std::uint64_t kWideOnes = ~std::uint64_t{0};

// Known answers that Random123 publishes for philox4x32-10.
TEST(PhiloxTest, AgreesWithTheKnownAnswers) {
  EXPECT_EQ(philox(0, 0, 0),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(kWideOnes, kWideOnes, kWideOnes),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxTest, UniformStaysBelowOne) {
  EXPECT_EQ(uniform_float(0), 0.0f);
  EXPECT_LT(uniform_float(kOnes), 1.0f);
  EXPECT_EQ(uniform_float(kOnes), 1.0f - 0x1p-24f);
  EXPECT_EQ(uniform_double(0, 0), 0.0);
  EXPECT_EQ(uniform_double(kOnes, kOnes), 1.0 - 0x1p-53);
  EXPECT_EQ(uniform_double(0x80000000u, 0), 0.5);
}

TEST(PhiloxTest, UniformHasTheRightMeanAndSpread) {
  constexpr int kBlocks = 50000;
  double sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    for (const std::uint32_t word : philox(7, 3, i)) {
      const double u = uniform_float(word);
      sum += u;
      squares += u * u;
    }
  }
  constexpr double kCount = 4.0 * kBlocks;
  // Five standard errors of the mean of that many.
  EXPECT_NEAR(sum / kCount, 0.5, 5 * 0.2887 / 447);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 5 * 0.2981 / 447);
}

}  // namespace
}  // namespace plimsoll
