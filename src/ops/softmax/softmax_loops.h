// Softmax and its gradient over `rows` rows of n elements.
#pragma once

#include <cstdint>

#include "ops/isa.h"

namespace plimsoll::ops {

template <class T>
struct SoftmaxLoops {
  void (*forward)(const T* x, std::int64_t rows, std::int64_t n,
                  T* y) = nullptr;
  void (*backward)(const T* dy, const T* y, std::int64_t rows, std::int64_t n,
                   T* dx) = nullptr;
};

struct SoftmaxTables {
  SoftmaxLoops<float> f32;
  SoftmaxLoops<double> f64;
};

PLIMSOLL_DECLARE_ISA_TABLE(SoftmaxTables, softmax_tables)

}  // namespace plimsoll::ops
