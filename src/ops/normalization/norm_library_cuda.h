// Normalization by cuDNN, as a stage of its own.
#pragma once

#include <optional>

#include "ops/cuda_kernels.h"
#include "ops/normalization/norm_form.h"

namespace plimsoll::ops {

// Empty: this one is for functions of ours.
std::optional<cuda::OpCode> library_norm(const graph::KernelQuery& query,
                                         const CudaSettings& settings,
                                         const NormForm& form);

}  // namespace plimsoll::ops
