// Functions that treat each row of the last axis by itself: a warp a row, or
// the whole block where rows are long.
#pragma once

#include <string>
#include <string_view>

#include "ops/cuda_text.h"

namespace plimsoll::ops {

// Threads that share a row of n elements.
std::int64_t rows_team(std::int64_t n);

// `text` makes the row number `row` of $n elements of type T, computed in C,
// with the team's Threads; `scores` has the rows. The name is that of the op
// with the team that decides the order of its sums.
cuda::OpCode rows_cuda(const graph::KernelQuery& query,
                       const graph::TensorType& scores, std::string_view text);

}  // namespace plimsoll::ops
