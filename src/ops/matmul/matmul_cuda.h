#pragma once

#include <span>

#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

// How the names of products by CUDA's library begin.
inline constexpr std::string_view kLibraryProduct = "matmul:cublaslt";

std::span<const CudaKernels> matmul_cuda_kernels();

// What the library may use for out [m, n] = a [m, k] b [k, n].
std::int64_t product_workspace(std::int64_t m, std::int64_t n, std::int64_t k,
                               DType output);

}  // namespace plimsoll::ops
