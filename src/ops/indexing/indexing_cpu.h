#pragma once

#include <span>

#include "ops/cpu_kernels.h"

namespace plimsoll::ops {

std::span<const CpuKernels> indexing_cpu_kernels();

// One file each.
CpuKernels gather_cpu();
CpuKernels scatter_add_cpu();
CpuKernels argmax_cpu();
CpuKernels topk_cpu();
CpuKernels topk_grad_cpu();
CpuKernels one_hot_cpu();

}  // namespace plimsoll::ops
