#pragma once

#include "device/cuda/cudnn_plan.h"
#include "device/cuda_device.h"

namespace plimsoll::cuda {

Result<CudnnPlan> choose_cudnn_batch_norm(cudnnHandle_t handle,
                                          const BatchNorm& batch_norm);
std::unique_ptr<CudaWork> make_cudnn_batch_norm(
    const BatchNorm& batch_norm, std::shared_ptr<const CudnnPlan> plan);

}  // namespace plimsoll::cuda
