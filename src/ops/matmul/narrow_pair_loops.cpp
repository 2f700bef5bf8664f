// The loops of narrow_loops.h by instructions that multiply pairs of bf16 and
// add both products to a sum in f32.
#include <cstring>

#include "ops/matmul/narrow_loops.h"
#include "ops/matmul/narrow_turns.h"
#include "ops/matmul/small_gemm_micro.h"

namespace plimsoll::ops {
namespace {

constexpr std::int64_t kWords = 16;  // pairs of a register
constexpr int kDotRows = 4;
constexpr int kDotColumns = 5;
// Rows are far apart and short: what comes next is asked for early. So many
// rows of a tall product that their lines do not drive out each other.
constexpr std::int64_t kAhead = 6;
using Half = std::uint16_t;

PLIMSOLL_INLINE __m512 add_pairs(__m512 sum, __m512i a, __m512i b) {
  return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

// The first n of a register of bf16, zeros behind.
PLIMSOLL_INLINE __m512i load_some(const Half* from, std::int64_t n) {
  const __mmask32 mask = n >= kTurn
                             ? ~__mmask32{0}
                             : (__mmask32{1} << static_cast<unsigned>(n)) - 1;
  return _mm512_maskz_loadu_epi16(mask, from);
}

PLIMSOLL_INLINE std::uint32_t element(const NarrowLines& lines, std::int64_t j,
                                      std::int64_t p) {
  return lines.from[j * lines.line + p * lines.step];
}

// Lines stay bf16, each along the long side.
void stage_dots(const NarrowLines& lines, std::int64_t count, float* to,
                std::int64_t to_line) {
  Half* out = reinterpret_cast<Half*>(to);
  const std::int64_t line = 2 * to_line;
  std::int64_t done = 0;
  if (lines.step == 1) {
    for (std::int64_t j = 0; j < lines.lines; ++j) {
      for (std::int64_t p = 0; p < count; p += kTurn) {
        _mm512_storeu_si512(
            out + j * line + p,
            load_some(lines.from + j * lines.line + p, count - p));
      }
    }
    return;
  }
  if (lines.line == 1 && lines.step == lines.lines) {
    for (; done + kTurn <= count; done += kTurn) {
      take_turns(lines.from + done * lines.step, lines.lines,
                 [&](std::int64_t j, const __m512i& whole) {
                   _mm512_storeu_si512(out + j * line + done, whole);
                 });
    }
  }
  for (; done < count; done += kTurn) {
    for (std::int64_t j = 0; j < lines.lines; ++j) {
      Half together[kTurn] = {};
      for (std::int64_t p = done; p < count && p < done + kTurn; ++p) {
        together[p - done] = lines.from[j * lines.line + p * lines.step];
      }
      std::memcpy(out + j * line + done, together, sizeof(together));
    }
  }
}

template <int Rows, int Columns>
PLIMSOLL_INLINE void add_products(const __m512i (&values)[Rows], const Half* b,
                                  std::int64_t line,
                                  __m512 (&sum)[Rows][Columns]) {
  PLIMSOLL_UNROLL
  for (int j = 0; j < Columns; ++j) {
    const __m512i other = _mm512_loadu_si512(b + j * line);
    PLIMSOLL_UNROLL
    for (int i = 0; i < Rows; ++i) {
      sum[i][j] = add_pairs(sum[i][j], values[i], other);
    }
  }
}

template <int Rows, int Columns>
void dot_block(const Half* a, std::int64_t a_row, std::int64_t count,
               const Half* b, std::int64_t line, float* sums,
               std::int64_t sums_row) {
  __m512 sum[Rows][Columns];
  PLIMSOLL_UNROLL
  for (int i = 0; i < Rows; ++i) {
    PLIMSOLL_UNROLL
    for (int j = 0; j < Columns; ++j) sum[i][j] = _mm512_setzero_ps();
  }
  std::int64_t p = 0;
  for (; p + kTurn <= count; p += kTurn) {
    __m512i values[Rows];
    PLIMSOLL_UNROLL
    for (int i = 0; i < Rows; ++i) {
      values[i] = _mm512_loadu_si512(a + i * a_row + p);
      __builtin_prefetch(a + (i + kDotRows) * a_row + p, 0, 2);
    }
    add_products<Rows, Columns>(values, b + p, line, sum);
  }
  if (p < count) {
    __m512i values[Rows];
    PLIMSOLL_UNROLL
    for (int i = 0; i < Rows; ++i) {
      values[i] = load_some(a + i * a_row + p, count - p);
    }
    add_products<Rows, Columns>(values, b + p, line, sum);
  }
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Columns; ++j) {
      sums[i * sums_row + j] = _mm512_reduce_add_ps(sum[i][j]);
    }
  }
}

using DotFn = void (*)(const Half*, std::int64_t, std::int64_t, const Half*,
                       std::int64_t, float*, std::int64_t);

template <int Rows>
constexpr DotFn kDotsOf[] = {dot_block<Rows, 1>, dot_block<Rows, 2>,
                             dot_block<Rows, 3>, dot_block<Rows, 4>,
                             dot_block<Rows, 5>};
constexpr const DotFn* kDots[] = {kDotsOf<1>, kDotsOf<2>, kDotsOf<3>,
                                  kDotsOf<4>};

void dots(const Half* a, std::int64_t a_row, std::int64_t rows,
          std::int64_t count, const float* staged, std::int64_t line,
          std::int64_t columns, float* sums) {
  const Half* b = reinterpret_cast<const Half*>(staged);
  const std::int64_t groups = (columns + kDotColumns - 1) / kDotColumns;
  for (std::int64_t row = 0; row < rows; row += kDotRows) {
    const std::int64_t some = rows - row < kDotRows ? rows - row : kDotRows;
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t first = columns * group / groups;
      const std::int64_t end = columns * (group + 1) / groups;
      kDots[some - 1][end - first - 1](a + row * a_row, a_row, count,
                                       b + first * 2 * line, 2 * line,
                                       sums + row * columns + first, columns);
    }
  }
}

// Words of elements 2 q and 2 q + 1 of the sum, 0 behind its end.
std::uint32_t word(const NarrowLines& lines, std::int64_t q, std::int64_t depth,
                   std::int64_t other, bool lines_are_depth) {
  const auto at = [&](std::int64_t d) -> std::uint32_t {
    if (d >= depth) return 0;
    return lines_are_depth ? element(lines, d, other)
                           : element(lines, other, d);
  };
  return at(2 * q) | at(2 * q + 1) << 16;
}

// Lines of words: line q has elements 2 q and 2 q + 1 of the sums.
void stage_spread(const NarrowLines& lines, std::int64_t count, float* to,
                  std::int64_t to_line) {
  auto* out = reinterpret_cast<std::uint32_t*>(to);
  const std::int64_t half = (lines.lines + 1) / 2;
  std::int64_t done = 0;
  if (lines.line == 1 && lines.step == lines.lines && lines.lines % 2 == 0) {
    for (; done + kWords <= count; done += kWords) {
      take_word_turns(lines.from + done * lines.step, half,
                      [&](std::int64_t q, const __m512i& words) {
                        _mm512_storeu_si512(out + q * to_line + done, words);
                      });
    }
  }
  for (std::int64_t q = 0; q < half; ++q) {
    std::int64_t p = done;
    if (lines.step == 1) {
      const Half* low = lines.from + 2 * q * lines.line;
      const bool paired = 2 * q + 1 < lines.lines;
      const Half* high = paired ? low + lines.line : low;
      const std::uint32_t mask = paired ? 0xffff0000u : 0;
      for (; p < count; ++p) {
        const std::uint32_t upper = static_cast<std::uint32_t>(high[p]) << 16;
        out[q * to_line + p] = low[p] | (upper & mask);
      }
    }
    for (; p < count; ++p) {
      out[q * to_line + p] = word(lines, q, lines.lines, p, true);
    }
    for (; p % kTurn != 0; ++p) out[q * to_line + p] = 0;
  }
}

void fill_rows(const NarrowLines& lines, std::int64_t count, float* to) {
  auto* out = reinterpret_cast<std::uint32_t*>(to);
  for (std::int64_t j = 0; j < lines.lines; ++j) {
    for (std::int64_t q = 0; 2 * q < count; ++q) {
      *out++ = word(lines, q, count, j, false);
    }
  }
}

void fill_columns(const NarrowLines& lines, std::int64_t count, float* to) {
  auto* out = reinterpret_cast<std::uint32_t*>(to);
  for (std::int64_t q = 0; 2 * q < count; ++q) {
    for (std::int64_t j = 0; j < kWords; ++j) {
      *out++ = j < lines.lines ? word(lines, q, count, j, false) : 0;
    }
  }
}

PLIMSOLL_INLINE __m512i every(const std::uint32_t* word) {
  return _mm512_set1_epi32(static_cast<int>(*word));
}

template <int Rows>
void spread_rows(const std::uint32_t* a, std::int64_t half,
                 const std::uint32_t* staged, std::int64_t line,
                 std::int64_t count, Half* c, std::int64_t c_row) {
  for (std::int64_t p = 0; p < count; p += kTurn) {
    __m512 low[Rows];
    __m512 high[Rows];
    PLIMSOLL_UNROLL
    for (int i = 0; i < Rows; ++i) low[i] = high[i] = _mm512_setzero_ps();
    const std::uint32_t* b = staged + p;
    for (std::int64_t q = 0; q < half; ++q) {
      const __m512i b_low = _mm512_loadu_si512(b);
      const __m512i b_high = _mm512_loadu_si512(b + kWords);
      PLIMSOLL_UNROLL
      for (int i = 0; i < Rows; ++i) {
        const __m512i factor = every(a + i * half + q);
        low[i] = add_pairs(low[i], factor, b_low);
        high[i] = add_pairs(high[i], factor, b_high);
      }
      b += line;
    }
    const __mmask32 mask =
        count - p >= kTurn
            ? ~__mmask32{0}
            : (__mmask32{1} << static_cast<unsigned>(count - p)) - 1;
    PLIMSOLL_UNROLL
    for (int i = 0; i < Rows; ++i) {
      _mm512_mask_storeu_epi16(c + i * c_row + p, mask,
                               (__m512i)_mm512_cvtne2ps_pbh(high[i], low[i]));
    }
  }
}

void spread(const float* a, std::int64_t rows, std::int64_t depth,
            const float* staged, std::int64_t line, std::int64_t count, Half* c,
            std::int64_t c_row) {
  constexpr std::int64_t kRows = 8;
  const std::int64_t half = (depth + 1) / 2;
  const auto* factors = reinterpret_cast<const std::uint32_t*>(a);
  const auto* words = reinterpret_cast<const std::uint32_t*>(staged);
  std::int64_t row = 0;
  for (; row + kRows <= rows; row += kRows) {
    spread_rows<kRows>(factors + row * half, half, words, line, count,
                       c + row * c_row, c_row);
  }
  for (; row < rows; ++row) {
    spread_rows<1>(factors + row * half, half, words, line, count,
                   c + row * c_row, c_row);
  }
}

// Of 32 rows of C two panels: word (q, r) at q * 16 + r. Halves of two rows of
// A are put together within quarters of a register, so that a panel has four
// rows in a row, then skips four.
void make_panels(const Half* a, std::int64_t a_col, std::int64_t depth,
                 std::int64_t count, std::uint32_t* panels) {
  const std::int64_t half = (depth + 1) / 2;
  for (std::int64_t q = 0; q < half; ++q) {
    const Half* even = a + 2 * q * a_col;
    const bool paired = 2 * q + 1 < depth;
    std::uint32_t* to = panels + q * kWords;
    for (std::int64_t p = 0; p < count; p += kTurn) {
      __builtin_prefetch(even + kAhead * a_col + p, 0, 3);
      __builtin_prefetch(even + (kAhead + 1) * a_col + p, 0, 3);
      const __m512i first = load_some(even + p, count - p);
      const __m512i second = paired ? load_some(even + a_col + p, count - p)
                                    : _mm512_setzero_si512();
      _mm512_storeu_si512(to, _mm512_unpacklo_epi16(first, second));
      _mm512_storeu_si512(to + half * kWords,
                          _mm512_unpackhi_epi16(first, second));
      to += 2 * half * kWords;
    }
  }
}

void tall(const Half* a, std::int64_t a_col, std::int64_t depth,
          std::int64_t count, const float* b, std::int64_t columns,
          float* panels, float* c) {
  auto* words = reinterpret_cast<std::uint32_t*>(panels);
  make_panels(a, a_col, depth, count, words);
  const std::int64_t half = (depth + 1) / 2;
  const auto mask = Simd<float>::mask(columns);
  for (std::int64_t p = 0; p < count; p += kTurn) {
    for (std::int64_t side = 0; side < 2; ++side) {
      const std::uint32_t* panel = words + (p / kWords + side) * half * kWords;
      __m512 sum[kWords];
      PLIMSOLL_UNROLL
      for (int i = 0; i < kWords; ++i) sum[i] = _mm512_setzero_ps();
      for (std::int64_t q = 0; q < half; ++q) {
        const __m512i value = _mm512_loadu_si512(b + q * kWords);
        PLIMSOLL_UNROLL
        for (int i = 0; i < kWords; ++i) {
          sum[i] = add_pairs(sum[i], every(panel + q * kWords + i), value);
        }
      }
      PLIMSOLL_UNROLL
      for (int i = 0; i < kWords; ++i) {
        const std::int64_t row = p + side * 4 + i / 4 * 8 + i % 4;
        if (row < count) Simd<float>::store(c + row * columns, sum[i], mask);
      }
    }
  }
}

}  // namespace

NarrowLoops narrow_pair_loops() {
  return {stage_dots, stage_spread, dots,   fill_rows,    fill_columns,
          spread,     tall,         kWords, "avx512_bf16"};
}

}  // namespace plimsoll::ops
