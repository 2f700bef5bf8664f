// Reductions of bf16 and f16: blocks are widened and summed as f32.
#pragma once

#include <algorithm>

#include "ops/reduction/reduction_loops.h"
#include "ops/simd/half_loops.h"

namespace plimsoll::ops {

// The loops of reduction_loops.h over what is stored in two bytes.
struct HalfReduction {
  ReductionLoops<float> loops;
  WidenLoop widen = nullptr;
  double identity = 0;
  // Where columns need not be widened into memory first; null otherwise.
  decltype(ReductionTables::sum_columns_bf16) stored_columns = nullptr;

  void row(const std::uint16_t* x, std::int64_t n, double* result) const {
    constexpr std::int64_t kBlock = 4096;
    float wide[kBlock];
    for (std::int64_t i = 0; i < n; i += kBlock) {
      const std::int64_t count = std::min(kBlock, n - i);
      widen(x + i, wide, count);
      loops.row(wide, count, result);
    }
  }

  void short_rows(const std::uint16_t* x, std::int64_t rows, std::int64_t n,
                  double* result) const {
    constexpr std::int64_t kRows = 64;
    float wide[kRows * kShortRow];
    for (std::int64_t row = 0; row < rows; row += kRows) {
      const std::int64_t count = std::min(kRows, rows - row);
      widen(x + row * n, wide, count * n);
      loops.short_rows(wide, count, n, result + row);
    }
  }

  void columns(const std::uint16_t* x, std::int64_t rows, std::int64_t stride,
               std::int64_t width, double* result) const {
    if (stored_columns != nullptr) {
      return columns_as_stored(x, rows, stride, width, result);
    }
    constexpr std::int64_t kRows = 16;
    constexpr std::int64_t kWidth = 512;
    float wide[kRows * kWidth];
    for (std::int64_t first = 0; first < width; first += kWidth) {
      const std::int64_t columns = std::min(kWidth, width - first);
      for (std::int64_t row = 0; row < rows; row += kRows) {
        const std::int64_t count = std::min(kRows, rows - row);
        for (std::int64_t r = 0; r < count; ++r) {
          widen(x + (row + r) * stride + first, wide + r * columns, columns);
        }
        loops.columns(wide, count, columns, columns, result + first);
      }
    }
  }

 private:
  // Narrow rows without gaps are taken several at a time, as one wide row
  // whose parts are added at the end.
  void columns_as_stored(const std::uint16_t* x, std::int64_t rows,
                         std::int64_t stride, std::int64_t width,
                         double* result) const {
    constexpr std::int64_t kWide = 512;
    const std::int64_t fold = kWide / width;
    if (width == stride && fold > 1 && rows > fold) {
      double folded[kWide] = {};
      const std::int64_t wide_rows = rows / fold;
      stored_columns(x, wide_rows, fold * width, fold * width, folded);
      for (std::int64_t i = 0; i < fold * width; ++i) {
        result[i % width] += folded[i];
      }
      x += wide_rows * fold * width;
      rows -= wide_rows * fold;
    }
    stored_columns(x, rows, stride, width, result);
  }
};

}  // namespace plimsoll::ops
