#pragma once

#include <span>

#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

// How the names of products by CUDA's library begin.
inline constexpr std::string_view kLibraryProduct = "matmul:cublaslt";

std::span<const CudaKernels> matmul_cuda_kernels();

}  // namespace plimsoll::ops
