// Losses and their gradients over `rows` rows of n classes.
#pragma once

#include <cstdint>

#include "ops/isa.h"

namespace plimsoll::ops {

template <class T>
struct LossLoops {
  void (*dense)(const T* x, const T* labels, std::int64_t rows, std::int64_t n,
                T* loss) = nullptr;
  void (*dense_grad)(const T* dy, const T* x, const T* labels,
                     std::int64_t rows, std::int64_t n, T* dx) = nullptr;
  void (*sparse)(const T* x, const std::int32_t* labels, std::int64_t rows,
                 std::int64_t n, T* loss) = nullptr;
  void (*sparse_grad)(const T* dy, const T* x, const std::int32_t* labels,
                      std::int64_t rows, std::int64_t n, T* dx) = nullptr;
};

struct LossTables {
  LossLoops<float> f32;
  LossLoops<double> f64;
};

PLIMSOLL_DECLARE_ISA_TABLE(LossTables, loss_tables)

}  // namespace plimsoll::ops
