// The elements of a tensor whose places along two axes are equal.
#pragma once

#include "graph/builder.h"

namespace plimsoll::ops {

// Two axes of one fixed extent become one, the last; the others stay in order.
graph::ValueId diagonal(graph::Builder& builder, graph::ValueId a, int first,
                        int second);

}  // namespace plimsoll::ops
