#pragma once

#include "device/cuda_code.h"
#include "graph/kernel_catalog.h"

namespace plimsoll::ops {

// A thread a packed element, in both directions.
cuda::OpCode pack_cuda(const graph::KernelQuery& query);

}  // namespace plimsoll::ops
