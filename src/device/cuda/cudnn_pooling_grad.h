#pragma once

#include "device/cuda/cudnn_plan.h"
#include "device/cuda_device.h"

namespace plimsoll::cuda {

Result<CudnnPlan> choose_cudnn_pooling_grad(cudnnHandle_t handle,
                                            const AveragePoolGrad& of);
std::unique_ptr<CudaWork> make_cudnn_pooling_grad(
    std::shared_ptr<const CudnnPlan> plan);

}  // namespace plimsoll::cuda
