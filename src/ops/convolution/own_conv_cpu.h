// Our own convolutions: products of gathered pixels, in every floating dtype.
// They sum in one fixed order whatever the number of threads.
#pragma once

#include <memory>

#include "ops/convolution/conv_shape.h"
#include "ops/cpu_kernels.h"

namespace plimsoll::ops {

graph::KernelCandidate gathered_candidate(const ConvShape& shape, ConvPass pass,
                                          DType dtype, ComputeThreads& threads);
std::unique_ptr<Kernel> make_gathered(const ConvShape& shape, ConvPass pass,
                                      DType dtype, ComputeThreads& threads);

// The gradient of the weights.
graph::KernelCandidate gathered_sum_candidate(const ConvShape& shape,
                                              DType dtype,
                                              ComputeThreads& threads);
std::unique_ptr<Kernel> make_gathered_sum(const ConvShape& shape, DType dtype,
                                          ComputeThreads& threads);

// Seconds of one launch by these: an estimate that only ranks.
double gathered_seconds(const ConvShape& shape, std::int64_t gathered,
                        std::int64_t columns, DType dtype, int threads);

}  // namespace plimsoll::ops
