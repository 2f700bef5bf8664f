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
// operand is its diagonal, which the batch does not have; an axis of extent 1
// serves for all of the other operand's.
graph::ValueId einsum(graph::Builder& builder, std::string_view equation,
                      graph::ValueId a, graph::ValueId b);

}  // namespace plimsoll::ops
