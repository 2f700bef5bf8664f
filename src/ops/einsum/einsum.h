// Sums of products by Einstein's notation, built of transposes, reshapes,
// products of matrices and sums: their gradients and kernels serve it.
#pragma once

#include <string_view>

#include "graph/builder.h"

namespace plimsoll::ops {

// As NumPy's einsum of two operands: "bqhd,bkhd->bhqk". A letter names an axis,
// `...` the axes that no letter names, which both operands count from the last;
// letters that the result does not have are summed. Without "->" the result
// has the letters that occur once, in alphabetical order. A letter twice in one
// operand (its diagonal) is refused, and so are axes of 1 in place of others.
graph::ValueId einsum(graph::Builder& builder, std::string_view equation,
                      graph::ValueId a, graph::ValueId b);

}  // namespace plimsoll::ops
