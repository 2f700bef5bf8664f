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
    constexpr std::int64_t kRows = 16;
    constexpr std::int64_t kWidth = 512;
    float wide[kRows * kWidth];
    if (width == stride && width <= kWidth) {
      // Rows without gaps: as many as there is room for, in one go.
      const std::int64_t most = kRows * kWidth / width;
      for (std::int64_t row = 0; row < rows; row += most) {
        const std::int64_t count = std::min(most, rows - row);
        widen(x + row * stride, wide, count * width);
        loops.columns(wide, count, width, width, result);
      }
      return;
    }
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
};

}  // namespace plimsoll::ops
