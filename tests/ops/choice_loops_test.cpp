// Choices on stored bf16 and f16: the bits of widening, choosing in f32 and
// narrowing, for every number there is.
#include "ops/elementwise/choice_loops.h"

#include <gtest/gtest.h>

#include <vector>

#include "ops/simd/half_loops.h"

namespace plimsoll::ops::testing {
namespace {

using Code = graph::ElementwiseCode;
using Stored = std::vector<std::uint16_t>;
constexpr std::int64_t kNumbers = 65536;

std::vector<float> widened(const Stored& x, DType dtype) {
  std::vector<float> wide(x.size());
  widen_loop(dtype)(x.data(), wide.data(), std::ssize(x));
  return wide;
}

Stored by_f32(Code code, const Stored& a, const Stored& b, const Stored& c,
              DType dtype) {
  const auto wide_a = widened(a, dtype);
  const auto wide_b = widened(b, dtype);
  const auto wide_c = widened(c, dtype);
  std::vector<float> made(a.size());
  pick_elementwise_loops().f32[static_cast<std::size_t>(code)](
      wide_a.data(), wide_b.data(), wide_c.data(), made.data(), 0,
      std::ssize(a));
  Stored out(a.size());
  narrow_loop(dtype)(made.data(), out.data(), std::ssize(out));
  return out;
}

void expect_same_bits(const ChoiceLoops& loops) {
  Stored all;
  for (std::int64_t i = 0; i < kNumbers; ++i) {
    all.push_back(static_cast<std::uint16_t>(i));
  }
  // Zeros, ones, infinities, and NaNs that are quiet and that are not.
  for (const int other : {0x0000, 0x8000, 0x0001, 0x8001, 0x3f80, 0x7c00,
                          0x7c01, 0xfc01, 0x7f80, 0xff80, 0x7f81, 0xffc0}) {
    const Stored one(all.size(), static_cast<std::uint16_t>(other));
    for (int i = 0; i < graph::kElementwiseCodes; ++i) {
      const auto code = static_cast<Code>(i);
      for (const DType dtype : {DType::bf16, DType::f16}) {
        const auto loop = (dtype == DType::bf16 ? loops.bf16 : loops.f16)[i];
        if (loop == nullptr) continue;
        for (const bool turned : {false, true}) {
          const Stored& a = turned ? one : all;
          const Stored& b = turned ? all : one;
          Stored got(all.size());
          loop(a.data(), b.data(), one.data(), got.data(), 0, kNumbers);
          EXPECT_EQ(got, by_f32(code, a, b, one, dtype))
              << graph::name_of(code) << " of " << name_of(dtype) << " with "
              << other;
        }
      }
    }
  }
}

TEST(ChoiceLoops, GiveTheBitsOfF32) { expect_same_bits(pick_choice_loops()); }

#if defined(__x86_64__)
TEST(ChoiceLoops, AtEveryInstructionSet) {
  expect_same_bits(isa_baseline::choice_loops());
  if (best_isa() != Isa::baseline) expect_same_bits(isa_v3::choice_loops());
}
#endif

TEST(ChoiceLoops, AreThoseOfReluAndItsGradient) {
  for (const Code code : {Code::relu, Code::relu_grad, Code::where}) {
    EXPECT_NE(pick_choice_loops().bf16[static_cast<int>(code)], nullptr);
  }
  EXPECT_EQ(pick_choice_loops().bf16[static_cast<int>(Code::add)], nullptr);
}

}  // namespace
}  // namespace plimsoll::ops::testing
