// Work of a graph of cuDNN's whose operands are those of the op.
#pragma once

#include "device/cuda/cudnn_plan.h"
#include "device/cuda_device.h"

namespace plimsoll::cuda {

// Operands in the order in which the graph has them; the workspace is where
// scratch begins.
std::unique_ptr<CudaWork> make_cudnn_layer(
    std::vector<Operand> operands, std::shared_ptr<const CudnnPlan> plan);

}  // namespace plimsoll::cuda
