#include "io/convert.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/half.h"
#include "io/narrow.h"

namespace plimsoll::io {
namespace {

constexpr DType kAll[] = {DType::f32,    DType::f64, DType::bf16, DType::f16,
                          DType::i8,     DType::i16, DType::i32,  DType::i64,
                          DType::u8,     DType::u16, DType::u32,  DType::u64,
                          DType::boolean};

template <class From, class To>
To one(DType from, From value, DType to) {
  To out{};
  convert(from, &value, to, &out, 1);
  return out;
}

TEST(Convert, SmallNumbersSurviveEveryPairOfTypes) {
  // 0 and 1 exist in every type, 77 in all but bool.
  const std::array<double, 3> numbers = {0, 1, 77};
  for (const DType first : kAll) {
    for (const DType second : kAll) {
      std::array<std::byte, 24> a{};
      std::array<std::byte, 24> b{};
      std::array<double, 3> back{};
      convert(DType::f64, numbers.data(), first, a.data(), 3);
      convert(first, a.data(), second, b.data(), 3);
      convert(second, b.data(), DType::f64, back.data(), 3);
      const bool binary = first == DType::boolean || second == DType::boolean;
      EXPECT_EQ(back[0], 0) << name_of(first) << " " << name_of(second);
      EXPECT_EQ(back[1], 1) << name_of(first) << " " << name_of(second);
      EXPECT_EQ(back[2], binary ? 1 : 77)
          << name_of(first) << " " << name_of(second);
    }
  }
}

TEST(Convert, IntegersSaturateAndNanIsZero) {
  EXPECT_EQ((one<double, std::int32_t>(DType::f64, 3e9, DType::i32)),
            std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ((one<double, std::int32_t>(DType::f64, -3e9, DType::i32)),
            std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ((one<float, std::int64_t>(DType::f32, 0x1p63f, DType::i64)),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ((one<float, std::uint8_t>(DType::f32, -1.0f, DType::u8)), 0);
  EXPECT_EQ((one<double, std::int16_t>(DType::f64, std::nan(""), DType::i16)),
            0);
  EXPECT_EQ((one<std::int64_t, std::int8_t>(DType::i64, -1000, DType::i8)),
            -128);
  EXPECT_EQ((one<std::uint64_t, std::int64_t>(DType::u64, ~0ull, DType::i64)),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ((one<float, std::int32_t>(DType::f32, -2.75f, DType::i32)), -2);
}

TEST(Convert, HalvesRoundToNearestEven) {
  EXPECT_EQ((one<double, std::uint16_t>(DType::f64, 1.0, DType::f16)), 0x3c00);
  EXPECT_EQ((one<float, std::uint16_t>(DType::f32, 65520.0f, DType::f16)),
            0x7c00);
  EXPECT_EQ((one<std::uint16_t, float>(DType::f16, 0x0001, DType::f32)),
            0x1p-24f);
  EXPECT_EQ(
      (one<std::uint16_t, std::uint16_t>(DType::f16, 0x3555, DType::bf16)),
      float_to_bf16(f16_to_float(0x3555)));
}

TEST(Convert, UnalignedMemoryIsFine) {
  std::vector<std::byte> bytes(8 * 5 + 1);
  const std::array<double, 5> numbers = {1, 2, 3, 4, 5};
  convert(DType::f64, numbers.data(), DType::f64, bytes.data() + 1, 5);
  std::array<float, 5> out{};
  convert(DType::f64, bytes.data() + 1, DType::f32, out.data(), 5);
  EXPECT_EQ(out, (std::array<float, 5>{1, 2, 3, 4, 5}));
}

// Every exponent, both signs, with bits around each place of rounding.
TEST(Convert, NarrowLoopsAgreeWithTheDefinition) {
  std::vector<float> values;
  for (std::uint32_t top = 0; top < 0x10000u; ++top) {
    for (const std::uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu,
                                    0x8000u, 0x8001u, 0xffffu}) {
      values.push_back(std::bit_cast<float>(top << 16 | low));
    }
  }
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<std::uint16_t> bf16(values.size());
  std::vector<std::uint16_t> f16(values.size());
  for (const Isa level : {Isa::baseline, Isa::v3, Isa::v4}) {
    if (level > best_isa()) continue;
    const NarrowLoops loops = narrow_loops(level);
    loops.to_bf16(values.data(), bf16.data(), count);
    loops.to_f16(values.data(), f16.data(), count);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(bf16[i], float_to_bf16(values[i])) << values[i];
      ASSERT_EQ(f16[i], float_to_f16(values[i])) << values[i];
    }
  }
}

}  // namespace
}  // namespace plimsoll::io
