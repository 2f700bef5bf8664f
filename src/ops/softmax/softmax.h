// Softmax over the last axis.
#pragma once

#include <span>

#include "graph/builder.h"

namespace plimsoll::ops {

graph::ValueId softmax(graph::Builder& builder, graph::ValueId x);
// dx = (dy - sum(dy * y)) * y, row by row.
graph::ValueId softmax_grad(graph::Builder& builder, graph::ValueId dy,
                            graph::ValueId y);

std::span<const graph::OpDef* const> softmax_ops();

}  // namespace plimsoll::ops
