// Fused attention by cuDNN: scores never lie in memory, but for backward's
// slopes, from which dq is summed in one order, a part of the heads at a time.
#pragma once

#include "device/cuda/cudnn_plan.h"
#include "device/cuda_device.h"

namespace plimsoll::cuda {

Result<CudnnPlan> choose_cudnn_attention(cudnnHandle_t handle,
                                         const Attention& attention);
std::unique_ptr<CudaWork> make_cudnn_attention(
    const Attention& attention, std::shared_ptr<const CudnnPlan> plan);

}  // namespace plimsoll::cuda
