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

// What a launch does besides its products.
struct GatherWork {
  std::int64_t gathered = 0;  // elements
  std::int64_t packed = 0;    // weights
  std::int64_t columns = 0;   // of a product
  std::int64_t rows = 0;      // that its blocks are cut from, or its depth
  double efficiency = 1;
};
// Seconds of one launch: an estimate that only ranks.
double gathered_seconds(const ConvShape& shape, const GatherWork& work,
                        DType dtype, int threads);

}  // namespace plimsoll::ops
