#pragma once

#include "ops/cpu_kernels.h"

namespace plimsoll::ops {

CpuKernels step_function_cpu_kernel();

}  // namespace plimsoll::ops
