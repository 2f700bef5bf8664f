// Back from averages by cuDNN, as a stage of its own. The rest of pooling is
// ours: cuDNN 9.14 loses NaN among the largest and takes -infinity for the
// least number, its averages of bf16 are wrong, and back from the largest it is
// not faster.
#pragma once

#include <optional>

#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

// Empty: this one is for functions of ours.
std::optional<cuda::OpCode> library_pooling(const graph::KernelQuery& query,
                                            const CudaSettings& settings);

}  // namespace plimsoll::ops
