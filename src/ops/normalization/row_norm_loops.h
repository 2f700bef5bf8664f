// Layer and rms normalization and their gradients over rows of n elements.
#pragma once

#include <cstdint>

#include "ops/isa.h"
#include "ops/normalization/stored.h"

namespace plimsoll::ops {

template <class T>
struct RowNormForward {
  const T* x = nullptr;
  const Computed<T>* gamma = nullptr;
  const Computed<T>* beta = nullptr;
  double epsilon = 0;
  T* y = nullptr;
  Computed<T>* mean = nullptr;  // one a row; null: rms
  Computed<T>* deviation = nullptr;
};

template <class T>
struct RowNormBackward {
  const T* dy = nullptr;
  const T* x = nullptr;
  const Computed<T>* gamma = nullptr;
  const Computed<T>* mean = nullptr;  // null: rms
  const Computed<T>* deviation = nullptr;
  T* dx = nullptr;
  // n of each, to which the rows' shares are added; null: not wanted.
  Computed<T>* dgamma = nullptr;
  Computed<T>* dbeta = nullptr;
};

template <class T>
struct RowNormLoops {
  void (*forward)(const RowNormForward<T>& args, std::int64_t rows,
                  std::int64_t n) = nullptr;
  void (*backward)(const RowNormBackward<T>& args, std::int64_t rows,
                   std::int64_t n) = nullptr;
};

struct RowNormTables {
  RowNormLoops<float> f32;
  RowNormLoops<double> f64;
  RowNormLoops<Bf16> bf16;
  RowNormLoops<F16> f16;
};

PLIMSOLL_DECLARE_ISA_TABLE(RowNormTables, row_norm_tables)

}  // namespace plimsoll::ops
