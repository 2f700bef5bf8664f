// Our own depthwise convolutions, in every floating dtype.
#pragma once

#include <memory>

#include "ops/convolution/conv_shape.h"
#include "ops/cpu_kernels.h"

namespace plimsoll::ops {

graph::KernelCandidate depthwise_candidate(const ConvShape& shape,
                                           ConvPass pass, DType dtype,
                                           ComputeThreads& threads);
std::unique_ptr<Kernel> make_depthwise(const ConvShape& shape, ConvPass pass,
                                       DType dtype, ComputeThreads& threads);

}  // namespace plimsoll::ops
