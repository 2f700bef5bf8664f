#pragma once

#include "device/cuda_code.h"
#include "ops/cuda_kernels.h"
#include "ops/movement/strided_move.h"

namespace plimsoll::ops {

// One function over all boxes, numbered through: a thread goes from one box
// into the next, so that small ones share the device.
cuda::OpCode moves_cuda(const graph::KernelQuery& query, const Moves& moves,
                        const CudaSettings& settings);

}  // namespace plimsoll::ops
