// Convolutions in full f32 and f64 as products of tiles that blocks keep in
// shared memory: for what the library has nothing good for.
#pragma once

#include "ops/convolution/conv_shape.h"
#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

// Of forward and of the data's gradient.
bool suits_tiles(ConvPass pass, const ConvShape& shape, DType dtype);

cuda::OpCode tiled_convolution(const graph::KernelQuery& query, ConvPass pass,
                               const ConvShape& shape);

}  // namespace plimsoll::ops
