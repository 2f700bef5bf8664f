#pragma once

#include <span>

#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

std::span<const CudaKernels> attention_cuda_kernels();

}  // namespace plimsoll::ops
