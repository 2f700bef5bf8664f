#pragma once

#include <span>

#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

std::span<const CudaKernels> loss_cuda_kernels();

// Rows of logits that begin at `x`, `step` elements apart.
struct SparseRows {
  std::string_view x;
  std::string_view step;
  std::string_view labels;
  std::string_view bias = {};  // of T, as long as a row; empty: none
};

// For rows_cuda: the rows' losses, or gradients of a type, as far apart.
std::string sparse_loss_text(const SparseRows& rows, std::string_view loss);
std::string sparse_grad_text(const SparseRows& rows, std::string_view dy,
                             std::string_view type, std::string_view dx);

}  // namespace plimsoll::ops
