// Every level's loops for narrow products against sums in f64: the catalogue
// runs the best of them alone.
#include "ops/matmul/narrow_loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/half.h"
#include "base/philox.h"

namespace plimsoll::ops::testing {
namespace {

using Halves = std::vector<std::uint16_t>;

std::vector<NarrowLoops> levels_here() {
  std::vector<NarrowLoops> levels = {best_narrow_loops()};
#if defined(__x86_64__)
  levels.push_back(isa_baseline::narrow_loops());
  if (best_isa() >= Isa::v3) levels.push_back(isa_v3::narrow_loops());
  if (best_isa() >= Isa::v4) levels.push_back(isa_v4::narrow_loops());
#endif
  return levels;
}

Halves numbers(std::uint64_t stream, std::int64_t count) {
  Halves made;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto words = philox(3, stream, static_cast<std::uint64_t>(i));
    made.push_back(float_to_bf16(2 * uniform_float(words[0]) - 1));
  }
  return made;
}

double at(const Halves& x, std::int64_t place) {
  return double(bf16_to_float(x[static_cast<std::size_t>(place)]));
}

std::vector<float> room(std::int64_t floats) {
  return std::vector<float>(static_cast<std::size_t>(floats), NAN);
}

// A narrow operand's lines: along the long side, or in turn.
NarrowLines lines_of(const Halves& x, std::int64_t lines, std::int64_t count,
                     bool in_turn) {
  return {x.data(), lines, in_turn ? 1 : count, in_turn ? lines : 1};
}
double at(const NarrowLines& lines, std::int64_t line, std::int64_t place) {
  return double(
      bf16_to_float(lines.from[line * lines.line + place * lines.step]));
}

struct Size {
  std::int64_t rows, narrow, count;
  bool in_turn;
};
constexpr Size kSizes[] = {
    {4, 10, 128, true}, {7, 10, 77, true}, {1, 1, 33, false},
    {9, 16, 100, true}, {3, 5, 31, false}, {17, 7, 64, true},
    {8, 16, 1, false},  {5, 3, 95, true},  {12, 11, 160, false}};

TEST(NarrowLoops, DotsAreSumsOverTheLongSide) {
  for (const NarrowLoops& loops : levels_here()) {
    for (const Size& s : kSizes) {
      const Halves a = numbers(0, s.rows * s.count);
      const Halves b = numbers(1, s.narrow * s.count);
      const auto lines = lines_of(b, s.narrow, s.count, s.in_turn);
      auto staged = room(s.narrow * 160);
      auto sums = room(s.rows * s.narrow);
      loops.stage_dots(lines, s.count, staged.data(), 160);
      loops.dots(a.data(), s.count, s.rows, s.count, staged.data(), 160,
                 s.narrow, sums.data());
      for (std::int64_t i = 0; i < s.rows; ++i) {
        for (std::int64_t j = 0; j < s.narrow; ++j) {
          double want = 0;
          for (std::int64_t p = 0; p < s.count; ++p) {
            want += at(a, i * s.count + p) * at(lines, j, p);
          }
          const float got = sums[static_cast<std::size_t>(i * s.narrow + j)];
          EXPECT_NEAR(double(got), want, 1e-5)
              << loops.level << ", " << s.rows << " x " << s.count << " x "
              << s.narrow << " at " << i << ", " << j;
        }
      }
    }
  }
}

TEST(NarrowLoops, SpreadRoundsSumsOverTheNarrowSide) {
  for (const NarrowLoops& loops : levels_here()) {
    for (const Size& s : kSizes) {
      const Halves a = numbers(2, s.rows * s.narrow);
      const Halves b = numbers(3, s.narrow * s.count);
      const auto lines = lines_of(b, s.narrow, s.count, s.in_turn);
      auto staged = room(s.narrow * 160);
      auto factors = room(s.rows * s.narrow);
      Halves c(static_cast<std::size_t>(s.rows * s.count + 1), 0x1234);
      loops.fill_rows({a.data(), s.rows, s.narrow, 1}, s.narrow,
                      factors.data());
      loops.stage_spread(lines, s.count, staged.data(), 160);
      loops.spread(factors.data(), s.rows, s.narrow, staged.data(), 160,
                   s.count, c.data(), s.count);
      EXPECT_EQ(c.back(), 0x1234) << "written behind the end";
      for (std::int64_t i = 0; i < s.rows; ++i) {
        for (std::int64_t p = 0; p < s.count; ++p) {
          double want = 0;
          for (std::int64_t q = 0; q < s.narrow; ++q) {
            want += at(a, i * s.narrow + q) * at(lines, q, p);
          }
          EXPECT_NEAR(at(c, i * s.count + p), want,
                      0x1p-8 * std::abs(want) + 1e-6)
              << loops.level << ", " << s.rows << " x " << s.narrow << " x "
              << s.count << " at " << i << ", " << p;
        }
      }
    }
  }
}

TEST(NarrowLoops, TallHasTheLongSideForRows) {
  for (const NarrowLoops& loops : levels_here()) {
    for (const Size& s : kSizes) {
      const Halves a = numbers(4, s.rows * s.count);
      const Halves b = numbers(5, s.rows * s.narrow);
      auto values = room(s.rows * 16);
      auto panels = room(s.rows * 160);
      std::vector<float> c(static_cast<std::size_t>(s.count * s.narrow + 1), 7);
      loops.fill_columns({b.data(), s.narrow, 1, s.narrow}, s.rows,
                         values.data());
      loops.tall(a.data(), s.count, s.rows, s.count, values.data(), s.narrow,
                 panels.data(), c.data());
      EXPECT_EQ(c.back(), 7) << "written behind the end";
      for (std::int64_t p = 0; p < s.count; ++p) {
        for (std::int64_t j = 0; j < s.narrow; ++j) {
          double want = 0;
          for (std::int64_t q = 0; q < s.rows; ++q) {
            want += at(a, q * s.count + p) * at(b, q * s.narrow + j);
          }
          const float got = c[static_cast<std::size_t>(p * s.narrow + j)];
          EXPECT_NEAR(double(got), want, 1e-5)
              << loops.level << ", " << s.count << " x " << s.rows << " x "
              << s.narrow << " at " << p << ", " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll::ops::testing
