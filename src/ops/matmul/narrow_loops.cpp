// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/matmul/narrow_loops.h"

#include "ops/matmul/narrow_stage.h"
#include "ops/matmul/small_gemm_micro.h"

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

using S = Simd<float>;
constexpr std::int64_t kLanes = S::kLanes;
constexpr bool kManyRegisters = S::kRegisters == 32;

// Sums in registers beside a pair of each row of A and one vector of B.
constexpr int kDotRows = kManyRegisters ? 4 : 2;
constexpr int kDotColumns = kManyRegisters ? 5 : 4;

template <int Rows, int Columns>
PLIMSOLL_INLINE void dot_pair(const std::uint16_t* a, std::int64_t a_row,
                              const float* b, std::int64_t line,
                              Wide (&sum)[Rows][Columns]) {
  Wide even[Rows];
  Wide odd[Rows];
  PLIMSOLL_UNROLL
  for (int i = 0; i < Rows; ++i) load_pair(a + i * a_row, even[i], odd[i]);
  PLIMSOLL_UNROLL
  for (int j = 0; j < Columns; ++j) {
    const Wide b_even = S::load(b + j * line);
    const Wide b_odd = S::load(b + j * line + kLanes);
    PLIMSOLL_UNROLL
    for (int i = 0; i < Rows; ++i) {
      sum[i][j] = S::fma(even[i], b_even, sum[i][j]);
      sum[i][j] = S::fma(odd[i], b_odd, sum[i][j]);
    }
  }
}

template <int Rows, int Columns>
void dot_block(const std::uint16_t* a, std::int64_t a_row, std::int64_t count,
               const float* b, std::int64_t line, float* sums,
               std::int64_t sums_row) {
  Wide sum[Rows][Columns];
  PLIMSOLL_UNROLL
  for (int i = 0; i < Rows; ++i) {
    PLIMSOLL_UNROLL
    for (int j = 0; j < Columns; ++j) sum[i][j] = S::zero();
  }
  std::int64_t p = 0;
  for (; p + kPair <= count; p += kPair) {
    dot_pair<Rows, Columns>(a + p, a_row, b + p, line, sum);
  }
  if (p < count) {
    std::uint16_t rest[Rows][kPair] = {};
    for (int i = 0; i < Rows; ++i) {
      for (std::int64_t q = p; q < count; ++q)
        rest[i][q - p] = a[i * a_row + q];
    }
    dot_pair<Rows, Columns>(rest[0], kPair, b + p, line, sum);
  }
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Columns; ++j) {
      sums[i * sums_row + j] = S::sum(sum[i][j]);
    }
  }
}

using DotFn = void (*)(const std::uint16_t*, std::int64_t, std::int64_t,
                       const float*, std::int64_t, float*, std::int64_t);

template <int Rows, int... Columns>
DotFn pick_columns(std::int64_t columns,
                   std::integer_sequence<int, Columns...> /*all*/) {
  static constexpr DotFn kTable[] = {dot_block<Rows, Columns + 1>...};
  return kTable[columns - 1];
}

template <int... Rows>
DotFn pick_dots(std::int64_t rows, std::int64_t columns,
                std::integer_sequence<int, Rows...> /*all*/) {
  using Pick =
      DotFn (*)(std::int64_t, std::make_integer_sequence<int, kDotColumns>);
  static constexpr Pick kTable[] = {pick_columns<Rows + 1>...};
  return kTable[rows - 1](columns, {});
}

void dots(const std::uint16_t* a, std::int64_t a_row, std::int64_t rows,
          std::int64_t count, const float* staged, std::int64_t line,
          std::int64_t columns, float* sums) {
  const std::int64_t groups = (columns + kDotColumns - 1) / kDotColumns;
  for (std::int64_t row = 0; row < rows; row += kDotRows) {
    const std::int64_t some = rows - row < kDotRows ? rows - row : kDotRows;
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t first = columns * group / groups;
      const std::int64_t end = columns * (group + 1) / groups;
      pick_dots(some, end - first, std::make_integer_sequence<int, kDotRows>())(
          a + row * a_row, a_row, count, staged + first * line, line,
          sums + row * columns + first, columns);
    }
  }
}

template <int Rows>
void spread_rows(const float* a, std::int64_t depth, const float* staged,
                 std::int64_t line, std::int64_t count, std::uint16_t* c,
                 std::int64_t c_row) {
  for (std::int64_t p = 0; p < count; p += kPair) {
    Wide even[Rows];
    Wide odd[Rows];
    PLIMSOLL_UNROLL
    for (int i = 0; i < Rows; ++i) even[i] = odd[i] = S::zero();
    const float* b = staged + p;
    for (std::int64_t q = 0; q < depth; ++q) {
      const Wide b_even = S::load(b);
      const Wide b_odd = S::load(b + kLanes);
      PLIMSOLL_UNROLL
      for (int i = 0; i < Rows; ++i) {
        const Wide factor = S::set(a[i * depth + q]);
        even[i] = S::fma(factor, b_even, even[i]);
        odd[i] = S::fma(factor, b_odd, odd[i]);
      }
      b += line;
    }
    PLIMSOLL_UNROLL
    for (int i = 0; i < Rows; ++i) {
      std::uint16_t* to = c + i * c_row + p;
      if (count - p >= kPair) {
        store_pair(to, even[i], odd[i]);
      } else {
        std::uint16_t rest[kPair];
        store_pair(rest, even[i], odd[i]);
        for (std::int64_t q = 0; q < count - p; ++q) to[q] = rest[q];
      }
    }
  }
}

void spread(const float* a, std::int64_t rows, std::int64_t depth,
            const float* staged, std::int64_t line, std::int64_t count,
            std::uint16_t* c, std::int64_t c_row) {
  constexpr std::int64_t kRows = 4;
  std::int64_t row = 0;
  for (; row + kRows <= rows; row += kRows) {
    spread_rows<kRows>(a + row * depth, depth, staged, line, count,
                       c + row * c_row, c_row);
  }
  for (; row < rows; ++row) {
    spread_rows<1>(a + row * depth, depth, staged, line, count, c + row * c_row,
                   c_row);
  }
}

// Rows of C whose sums are under way together; a panel has one vector of them.
constexpr int kTallRows = kManyRegisters ? 16 : 4;
static_assert(kLanes % kTallRows == 0);

// Element (q, r) of a panel at q * lanes + r; its rows of C are `apart`.
template <int Vectors>
void tall_rows(const float* panel, std::int64_t depth, const float* b,
               std::int64_t columns, std::int64_t rows, float* c,
               std::int64_t apart) {
  Wide sum[kTallRows][Vectors];
  PLIMSOLL_UNROLL
  for (int i = 0; i < kTallRows; ++i) {
    PLIMSOLL_UNROLL
    for (int j = 0; j < Vectors; ++j) sum[i][j] = S::zero();
  }
  for (std::int64_t q = 0; q < depth; ++q) {
    Wide value[Vectors];
    PLIMSOLL_UNROLL
    for (int j = 0; j < Vectors; ++j) value[j] = S::load(b + j * kLanes);
    PLIMSOLL_UNROLL
    for (int i = 0; i < kTallRows; ++i) {
      const Wide factor = S::set(panel[i]);
      PLIMSOLL_UNROLL
      for (int j = 0; j < Vectors; ++j) {
        sum[i][j] = S::fma(factor, value[j], sum[i][j]);
      }
    }
    panel += kLanes;
    b += Vectors * kLanes;
  }
  const auto last = S::mask(columns - (Vectors - 1) * kLanes);
  PLIMSOLL_UNROLL
  for (int i = 0; i < kTallRows; ++i) {
    if (i >= rows) break;
    float* to = c + i * apart;
    PLIMSOLL_UNROLL
    for (int j = 0; j + 1 < Vectors; ++j) S::store(to + j * kLanes, sum[i][j]);
    S::store(to + (Vectors - 1) * kLanes, sum[i][Vectors - 1], last);
  }
}

// Panels of even and of odd rows in turn.
void make_panels(const std::uint16_t* a, std::int64_t a_col, std::int64_t depth,
                 std::int64_t count, float* panels) {
  for (std::int64_t q = 0; q < depth; ++q) {
    const std::uint16_t* from = a + q * a_col;
    float* to = panels + q * kLanes;
    for (std::int64_t p = 0; p < count; p += kPair) {
      Wide even;
      Wide odd;
      if (count - p >= kPair) {
        load_pair(from + p, even, odd);
      } else {
        load_rest(from + p, count - p, even, odd);
      }
      S::store(to, even);
      S::store(to + depth * kLanes, odd);
      to += 2 * depth * kLanes;
    }
  }
}

void tall(const std::uint16_t* a, std::int64_t a_col, std::int64_t depth,
          std::int64_t count, const float* b, std::int64_t columns,
          float* panels, float* c) {
  make_panels(a, a_col, depth, count, panels);
  const std::int64_t vectors = (columns + kLanes - 1) / kLanes;
  const auto run = vectors == 1   ? tall_rows<1>
                   : vectors == 2 ? tall_rows<2>
                   : vectors == 3 ? tall_rows<3>
                                  : tall_rows<4>;
  for (std::int64_t p = 0; p < count; p += kPair) {
    for (std::int64_t odd = 0; odd < 2; ++odd) {
      const float* panel = panels + (p / kLanes + odd) * depth * kLanes;
      for (std::int64_t r = 0; r < kLanes; r += kTallRows) {
        const std::int64_t first = p + 2 * r + odd;
        const std::int64_t rows = (count - first + 1) / 2;
        if (rows <= 0) continue;
        run(panel + r, depth, b, columns, rows, c + first * columns,
            2 * columns);
      }
    }
  }
}

#if defined(__AVX512F__)
constexpr const char* kLevel = "avx512";
#elif defined(__AVX2__)
constexpr const char* kLevel = "avx2";
#else
constexpr const char* kLevel = "baseline";
#endif

}  // namespace

NarrowLoops narrow_loops() {
  return {stage,  stage, dots,   fill_rows, fill_columns,
          spread, tall,  kLanes, kLevel};
}

}  // namespace plimsoll::ops::PLIMSOLL_ISA
