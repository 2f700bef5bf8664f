// A pooling at fixed shapes, as kernels see it.
#pragma once

#include <cstdint>

#include "graph/op_def.h"

namespace plimsoll::ops {

// Plain numbers: loops of every instruction set read them.
struct PoolAxis {
  std::int64_t from = 0;  // pixels of the images
  std::int64_t to = 0;    // and of the result
  std::int64_t window = 1;
  std::int64_t stride = 1;
  std::int64_t before = 0;  // padding
};

struct PoolShape {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  PoolAxis rows;
  PoolAxis columns;
};

// Both sides [B, H, W, C]: images and result, whichever way it goes.
PoolShape pool_shape(const Shape& images, const Shape& result,
                     const graph::Attrs& attrs);

// How places in a window are stored: row by row, from 0 on.
DType place_dtype(const graph::Attrs& attrs);

}  // namespace plimsoll::ops
