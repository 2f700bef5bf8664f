// Convolutions as functions of ours: small ones, f64, and those whose groups
// are so narrow that the library has nothing good for them.
#pragma once

#include "ops/convolution/conv_shape.h"
#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

cuda::OpCode own_convolution(const graph::KernelQuery& query, ConvPass pass,
                             const ConvShape& shape);

// A line for each step after a sum `C sum` of filter `o`: bias and relu.
std::string finish_text(const ConvShape& shape);

}  // namespace plimsoll::ops
