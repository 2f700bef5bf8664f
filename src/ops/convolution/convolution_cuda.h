#pragma once

#include <span>

#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

// Stands in the names of convolutions by CUDA's library.
inline constexpr std::string_view kLibraryConvolution = ":cudnn";

std::span<const CudaKernels> convolution_cuda_kernels();

}  // namespace plimsoll::ops
