// The kernels of one instruction set, over its register blocks; included once
// by each instruction set's file, hence internal linkage.
#pragma once

#include "ops/matmul/small_gemm_micro.h"

namespace plimsoll::ops {
namespace {

// Summed in one go before C is touched again; part of the numbers.
inline constexpr std::int64_t kDirectDepth = 512;
// A part of B that stays in the first-level cache over a sweep of rows.
inline constexpr std::int64_t kResidentBytes = 24 * 1024;

template <class V>
V least(V a, V b) {
  return a < b ? a : b;
}

template <class T>
Epilogue<T> epilogue_at(const GemmArgs<T>& args, std::int64_t column,
                        bool first, bool last) {
  const T* bias =
      args.bias && last ? args.bias + (args.one_bias ? 0 : column) : nullptr;
  return {bias, args.one_bias, args.relu && last, args.accumulate || !first};
}

// One strip of columns, all rows in blocks as equal as they come.
template <class T>
void strip(const GemmArgs<T>& args, std::int64_t column, std::int64_t columns,
           std::int64_t row, std::int64_t rows, std::int64_t from,
           std::int64_t depth) {
  using S = Simd<T>;
  const std::int64_t vectors = (columns + S::kLanes - 1) / S::kLanes;
  const auto mask = S::mask(columns - (vectors - 1) * S::kLanes);
  const auto epilogue =
      epilogue_at(args, column, from == 0, from + depth == args.k);
  const std::int64_t blocks =
      (rows + most_rows(vectors) - 1) / most_rows(vectors);
  for (std::int64_t left = blocks; left > 0; --left) {
    const std::int64_t take = (rows + left - 1) / left;
    const bool columns_lie = args.a_row == 1;
    const auto block = columns_lie ? micro_for<T, true>(take, vectors)
                                   : micro_for<T, false>(take, vectors);
    block(depth, args.a + row * args.a_row + from * args.a_col,
          columns_lie ? args.a_col : args.a_row,
          args.b + from * args.b_row + column, args.b_row,
          args.c + row * args.c_row + column, args.c_row, mask, epilogue);
    row += take;
    rows -= take;
  }
}

template <class T>
void direct(const GemmArgs<T>& args) {
  const std::int64_t width = kMicroVectors<T> * Simd<T>::kLanes;
  for (std::int64_t from = 0; from < args.k; from += kDirectDepth) {
    const std::int64_t depth = least(kDirectDepth, args.k - from);
    // Small B: keep it and sweep the rows; otherwise keep one strip of it.
    const bool keep_b =
        depth * args.n * static_cast<std::int64_t>(sizeof(T)) <= kResidentBytes;
    const std::int64_t step = keep_b ? kNarrowRows * kMicroRows : args.m;
    for (std::int64_t row = 0; row < args.m; row += step) {
      const std::int64_t rows = least(step, args.m - row);
      for (std::int64_t column = 0; column < args.n; column += width) {
        strip(args, column, least(width, args.n - column), row, rows, from,
              depth);
      }
    }
  }
}

template <class T, int Rows>
void dot_block(const GemmArgs<T>& args, std::int64_t row) {
  using S = Simd<T>;
  typename S::Reg sum[Rows];
  PLIMSOLL_UNROLL
  for (int i = 0; i < Rows; ++i) sum[i] = S::zero();
  const T* a = args.a + row * args.a_row;
  std::int64_t p = 0;
  for (; p + S::kLanes <= args.k; p += S::kLanes) {
    const typename S::Reg x = S::load(args.b + p);
    PLIMSOLL_UNROLL
    for (int i = 0; i < Rows; ++i) {
      sum[i] = S::fma(S::load(a + i * args.a_row + p), x, sum[i]);
    }
  }
  if (p < args.k) {
    const auto mask = S::mask(args.k - p);
    const typename S::Reg x = S::load(args.b + p, mask);
    PLIMSOLL_UNROLL
    for (int i = 0; i < Rows; ++i) {
      sum[i] = S::fma(S::load(a + i * args.a_row + p, mask), x, sum[i]);
    }
  }
  PLIMSOLL_UNROLL
  for (int i = 0; i < Rows; ++i) {
    T value = S::sum(sum[i]);
    if (args.bias) value += args.bias[args.one_bias ? 0 : row + i];
    if (args.relu && value < T(0)) value = T(0);
    args.c[(row + i) * args.c_row] = value;
  }
}

template <class T>
void rows_dot(const GemmArgs<T>& args) {
  std::int64_t row = 0;
  for (; row + 8 <= args.m; row += 8) dot_block<T, 8>(args, row);
  for (; row < args.m; ++row) dot_block<T, 1>(args, row);
}

template <class T>
void pack_a(const T* a, std::int64_t a_row, std::int64_t a_col, std::int64_t m,
            std::int64_t k, T* to) {
  for (std::int64_t row = 0; row < m; row += kMicroRows) {
    const std::int64_t rows = least<std::int64_t>(kMicroRows, m - row);
    const T* from = a + row * a_row;
    for (std::int64_t p = 0; p < k; ++p) {
      for (std::int64_t i = 0; i < kMicroRows; ++i) {
        to[p * kMicroRows + i] = i < rows ? from[i * a_row + p * a_col] : T(0);
      }
    }
    to += k * kMicroRows;
  }
}

template <class T>
void pack_b(const T* b, std::int64_t b_row, std::int64_t b_col, std::int64_t k,
            std::int64_t n, T* to) {
  constexpr std::int64_t kWidth = kMicroVectors<T> * Simd<T>::kLanes;
  for (std::int64_t column = 0; column < n; column += kWidth) {
    const std::int64_t columns = least(kWidth, n - column);
    const T* from = b + column * b_col;
    if (b_col == 1) {
      for (std::int64_t p = 0; p < k; ++p) {
        T* line = to + p * kWidth;
        for (std::int64_t j = 0; j < columns; ++j)
          line[j] = from[p * b_row + j];
        for (std::int64_t j = columns; j < kWidth; ++j) line[j] = T(0);
      }
    } else {
      // Lines of B are read whole, a few elements of each at a time.
      constexpr std::int64_t kStep = 64 / sizeof(T);
      for (std::int64_t p = 0; p < k; p += kStep) {
        const std::int64_t end = least(p + kStep, k);
        for (std::int64_t j = 0; j < columns; ++j) {
          for (std::int64_t q = p; q < end; ++q) {
            to[q * kWidth + j] = from[q * b_row + j * b_col];
          }
        }
        for (std::int64_t q = p; q < end; ++q) {
          for (std::int64_t j = columns; j < kWidth; ++j) {
            to[q * kWidth + j] = T(0);
          }
        }
      }
    }
    to += k * kWidth;
  }
}

// A strip of B stays in the first-level cache while A's panels pass by.
template <class T>
void packed(const GemmArgs<T>& args) {
  using S = Simd<T>;
  constexpr std::int64_t kWidth = kMicroVectors<T> * S::kLanes;
  for (std::int64_t column = 0; column < args.n; column += kWidth) {
    const std::int64_t columns = least(kWidth, args.n - column);
    const std::int64_t vectors = (columns + S::kLanes - 1) / S::kLanes;
    const auto mask = S::mask(columns - (vectors - 1) * S::kLanes);
    const auto epilogue = epilogue_at(args, column, true, true);
    for (std::int64_t row = 0; row < args.m; row += kMicroRows) {
      const std::int64_t rows = least<std::int64_t>(kMicroRows, args.m - row);
      micro_for<T, true>(rows, vectors)(
          args.k, args.a + row * args.k, kMicroRows, args.b + column * args.k,
          kWidth, args.c + row * args.c_row + column, args.c_row, mask,
          epilogue);
    }
  }
}

template <class T>
constexpr GemmTable<T> table_of() {
  return {direct<T>,  rows_dot<T>,
          pack_a<T>,  pack_b<T>,
          packed<T>,  Simd<T>::kLanes,
          kMicroRows, kMicroVectors<T> * Simd<T>::kLanes};
}

}  // namespace
}  // namespace plimsoll::ops
