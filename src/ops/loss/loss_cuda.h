#pragma once

#include <span>

#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

std::span<const CudaKernels> loss_cuda_kernels();

// For rows_cuda, of rows that begin at `x`, `step` elements apart: their
// losses, or gradients of a type, as far apart.
std::string sparse_loss_text(std::string_view x, std::string_view step,
                             std::string_view labels, std::string_view loss);
std::string sparse_grad_text(std::string_view dy, std::string_view x,
                             std::string_view step, std::string_view labels,
                             std::string_view type, std::string_view dx);

}  // namespace plimsoll::ops
