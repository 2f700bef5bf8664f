// Attention by cuDNN, as a stage of its own.
#pragma once

#include <optional>

#include "ops/attention/attention_shape.h"
#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

// Empty: this one is for functions of ours.
std::optional<cuda::OpCode> library_attention(const graph::KernelQuery& query,
                                              const CudaSettings& settings,
                                              const AttentionShape& shape,
                                              bool backward);

}  // namespace plimsoll::ops
