#pragma once

#include "device/cuda/cudnn_library.h"
#include "device/cuda_device.h"

namespace plimsoll::cuda {

Result<std::unique_ptr<CudaWork>> make_cudnn_convolution(
    cudnnHandle_t handle, const Convolution& convolution);

}  // namespace plimsoll::cuda
