#pragma once

#include <span>

#include "ops/cpu_kernels.h"

namespace plimsoll::ops {

std::span<const CpuKernels> pooling_cpu_kernels();

}  // namespace plimsoll::ops
