// Matrix products. `a` is [..., M, K], `b` is [..., K, N]: the leading
// dimensions are equal, or one of the two has none and serves every batch.
#pragma once

#include <span>

#include "graph/builder.h"

namespace plimsoll::ops {

std::span<const graph::OpDef* const> matmul_ops();

// Attributes: "transpose_a", "transpose_b" (the stored operand is transposed
// in its last two dimensions), "activation" ("" or "relu") and "out" (name of
// the output's dtype where bf16 or f16 operands give f32). A third input is
// the bias [N] in the output's dtype. Relu keeps NaN where the product is ours;
// a library's may make it 0, as oneDNN's does.
const graph::OpDef& matmul_op();

graph::ValueId matmul(graph::Builder& builder, graph::ValueId a,
                      graph::ValueId b, bool transpose_a = false,
                      bool transpose_b = false);

}  // namespace plimsoll::ops
