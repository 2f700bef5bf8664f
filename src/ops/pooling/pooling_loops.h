// Rows of a pooling and of its gradients, one table per instruction set.
#pragma once

#include <cstdint>

#include "ops/isa.h"
#include "ops/normalization/stored.h"
#include "ops/pooling/pool_shape.h"

namespace plimsoll::ops {

// What depends on how places are stored.
template <class T, class Place>
struct MaxPoolLoops {
  // Row `i` of an image's result.
  void (*forward)(const PoolShape& shape, const T* image, std::int64_t i, T* y,
                  Place* places) = nullptr;
  // Row `h` of an image's gradient, from the image's dy and places.
  void (*backward)(const PoolShape& shape, const T* dy, const Place* places,
                   std::int64_t h, T* dx) = nullptr;
};

template <class T>
struct PoolLoops {
  MaxPoolLoops<T, std::uint8_t> max_small;
  MaxPoolLoops<T, std::int32_t> max_large;
  void (*average)(const PoolShape& shape, const T* image, std::int64_t i,
                  T* y) = nullptr;
  void (*average_grad)(const PoolShape& shape, const T* dy, std::int64_t h,
                       T* dx) = nullptr;
};

struct PoolTables {
  PoolLoops<float> f32;
  PoolLoops<double> f64;
  PoolLoops<Bf16> bf16;
  PoolLoops<F16> f16;
};

PLIMSOLL_DECLARE_ISA_TABLE(PoolTables, pool_tables)

}  // namespace plimsoll::ops
