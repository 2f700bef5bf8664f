#pragma once

#include <span>

#include "ops/cpu_kernels.h"

namespace plimsoll::ops {

std::span<const CpuKernels> random_cpu_kernels();

// In fill_cpu.cpp.
CpuKernels random_uniform_cpu();
CpuKernels random_normal_cpu();

}  // namespace plimsoll::ops
