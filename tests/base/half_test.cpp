#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plimsoll {
namespace {

// What a 16-bit pattern with this many exponent and mantissa bits means, from
// the definition of the format.
double slow_value(std::uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    if (mantissa != 0) return std::numeric_limits<double>::quiet_NaN();
    return sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) {
    return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  }
  return sign * std::ldexp((1 << mantissa_bits) + mantissa,
                           exponent - bias - mantissa_bits);
}

using ToFloat = float (*)(std::uint16_t);
using FromFloat = std::uint16_t (*)(float);

void check_every_pattern(ToFloat to_float, FromFloat from_float,
                         int exponent_bits, int mantissa_bits) {
  for (int i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const double expected = slow_value(bits, exponent_bits, mantissa_bits);
    const float value = to_float(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << i;
      ASSERT_TRUE(std::isnan(to_float(from_float(value)))) << i;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), expected) << i;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << i;
    ASSERT_EQ(from_float(value), bits) << i;
  }
}

// Between every two neighbours: the middle goes to the even one, whatever lies
// a hair to either side goes to the nearer one. The neighbour above the
// largest finite value is infinity.
void check_every_rounding(ToFloat to_float, FromFloat from_float,
                          std::uint16_t infinity, float above_largest) {
  for (std::uint16_t low = 0; low < infinity; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const float a = to_float(low);
    const float b = high == infinity ? above_largest : to_float(high);
    const float middle = a + (b - a) / 2;
    if (!std::isfinite(middle)) continue;
    const std::uint16_t even = (low & 1) == 0 ? low : high;
    const float less = std::nextafter(middle, 0.0f);
    const float more =
        std::nextafter(middle, std::numeric_limits<float>::infinity());
    ASSERT_EQ(from_float(middle), even) << low;
    ASSERT_EQ(from_float(less), low) << low;
    ASSERT_EQ(from_float(more), high) << low;
    ASSERT_EQ(from_float(-middle), even | 0x8000) << low;
    ASSERT_EQ(from_float(-less), low | 0x8000) << low;
    ASSERT_EQ(from_float(-more), high | 0x8000) << low;
  }
}

TEST(HalfTest, EveryF16PatternMeansWhatItsBitsSay) {
  check_every_pattern(f16_to_float, float_to_f16, 5, 10);
}

TEST(HalfTest, EveryBf16PatternMeansWhatItsBitsSay) {
  check_every_pattern(bf16_to_float, float_to_bf16, 8, 7);
}

TEST(HalfTest, F16RoundsToNearestEvenBetweenAllNeighbours) {
  check_every_rounding(f16_to_float, float_to_f16, 0x7c00, 65536.0f);
}

TEST(HalfTest, Bf16RoundsToNearestEvenBetweenAllNeighbours) {
  check_every_rounding(bf16_to_float, float_to_bf16, 0x7f80,
                       std::numeric_limits<float>::infinity());
  // The last middle has no finite upper neighbour to be computed from.
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x7f7f8000u)), 0x7f80);
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x7f7f7fffu)), 0x7f7f);
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(HalfTest, F16LeavesItsRangeAtTheRightPlaces) {
  EXPECT_EQ(float_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(float_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_f16(1e30f), 0x7c00);
  EXPECT_EQ(float_to_f16(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(float_to_f16(0x1p-25f), 0x0000);  // half the least: to even
  EXPECT_EQ(float_to_f16(0x1.000002p-25f), 0x0001);
  EXPECT_EQ(float_to_f16(std::numeric_limits<float>::denorm_min()), 0);
}

TEST(HalfTest, NaNWithOnlyLowMantissaBitsStaysNaN) {
  const float nan = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(nan))));
  EXPECT_TRUE(std::isnan(f16_to_float(float_to_f16(nan))));
}

}  // namespace
}  // namespace plimsoll
