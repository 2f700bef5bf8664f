// The inner loops of reductions, one table a dtype. They keep a fixed number
// of lanes and fuse no product with a sum: the instruction-set level decides
// speed and not a single bit. So do those of softmax, losses and dropout.
#pragma once

#include <cstdint>

#include "ops/isa.h"
#include "ops/reduction/reduction_split.h"

namespace plimsoll::ops {

// Rows shorter than this are summed element by element.
inline constexpr std::int64_t kShortRow = 64;

// Results gather in double: long f32 sums stay accurate, maxima are exact.
template <class T>
struct ReductionLoops {
  // *result (+)= the n elements at x.
  void (*row)(const T* x, std::int64_t n, double* result) = nullptr;
  // result[r] (+)= row r of n < kShortRow elements, rows one after another;
  // the same bits as row(), several rows at a time.
  void (*short_rows)(const T* x, std::int64_t rows, std::int64_t n,
                     double* result) = nullptr;
  // result[j] (+)= column j, for j < width <= kReductionTile.
  void (*columns)(const T* x, std::int64_t rows, std::int64_t stride,
                  std::int64_t width, double* result) = nullptr;
  double identity = 0;  // of (+)
};

struct ReductionTables {
  ReductionLoops<float> sum_f32, max_f32;
  ReductionLoops<double> sum_f64, max_f64;
  // y[i] = x[i] / divisor, rounded once.
  void (*divide_f32)(const double* x, std::int64_t n, double divisor,
                     float* y) = nullptr;
  void (*divide_f64)(const double* x, std::int64_t n, double divisor,
                     double* y) = nullptr;
  void (*scale_f32)(const float* x, std::int64_t n, double divisor,
                    float* y) = nullptr;
  // ReductionLoops' columns of what is stored as bf16.
  void (*sum_columns_bf16)(const std::uint16_t* x, std::int64_t rows,
                           std::int64_t stride, std::int64_t width,
                           double* result) = nullptr;
};

PLIMSOLL_DECLARE_ISA_TABLE(ReductionTables, reduction_tables)

}  // namespace plimsoll::ops
