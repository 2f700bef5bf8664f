// Reverse-mode differentiation: extends the builder's graph by the backward
// pass, from each op's own gradient rule.
#pragma once

#include <span>
#include <vector>

#include "graph/builder.h"

namespace plimsoll::graph {

// Gradients of the scalar `loss` for each of `wanted`, in their order. A value
// on which the loss does not depend is an error that names it. Nodes are added
// in Phase::backward.
Result<std::vector<ValueId>> add_gradients(Builder& builder, ValueId loss,
                                           std::span<const ValueId> wanted);

}  // namespace plimsoll::graph
