#pragma once

#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

CudaKernels step_function_cuda_kernel();

}  // namespace plimsoll::ops
