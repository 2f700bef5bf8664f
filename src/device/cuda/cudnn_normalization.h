#pragma once

#include "device/cuda/cudnn_plan.h"
#include "device/cuda_device.h"

namespace plimsoll::cuda {

Result<CudnnPlan> choose_cudnn_normalization(cudnnHandle_t handle,
                                             const Normalization& of);
std::unique_ptr<CudaWork> make_cudnn_normalization(
    const Normalization& of, std::shared_ptr<const CudnnPlan> plan);

}  // namespace plimsoll::cuda
