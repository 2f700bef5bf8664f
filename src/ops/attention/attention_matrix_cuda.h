// Attention in bf16 and f16 by the matrix units of CUDA devices, as texts of
// device functions; see attention_tiles_cuda.h for all other settings.
#pragma once

#include <cstdint>
#include <string>

#include "graph/kernel_catalog.h"
#include "ops/attention/attention_shape.h"

namespace plimsoll::ops {

// Heads of 16, 32, 48 or 64 elements: sums of a tile stay in registers.
bool attention_fits_matrix_units(DType dtype, const AttentionShape& shape);

// Rows of a task: those of 16 warps in forward and in dq, of 8 in dk and dv.
inline constexpr std::int64_t kMatrixQueries = 256;
inline constexpr std::int64_t kMatrixKeys = 128;

// `seen` says whether `query` sees `at_key`.
std::string attention_matrix_forward(DType dtype, const AttentionShape& shape,
                                     const std::string& seen);
// Of the sums that backward's first function leaves in scratch.
std::string attention_matrix_dq(DType dtype, const AttentionShape& shape,
                                const std::string& seen);
std::string attention_matrix_dk_dv(DType dtype, const AttentionShape& shape,
                                   const std::string& seen);

}  // namespace plimsoll::ops
