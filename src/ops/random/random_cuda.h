#pragma once

#include <span>

#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

std::span<const CudaKernels> random_cuda_kernels();

// In fill_cuda.cpp.
Result<cuda::OpCode> random_uniform_cuda(const graph::KernelQuery& query,
                                         const CudaSettings& settings);
Result<cuda::OpCode> random_normal_cuda(const graph::KernelQuery& query,
                                        const CudaSettings& settings);

}  // namespace plimsoll::ops
