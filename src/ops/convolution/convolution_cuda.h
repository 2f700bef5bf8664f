#pragma once

#include <span>

#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

std::span<const CudaKernels> convolution_cuda_kernels();

}  // namespace plimsoll::ops
