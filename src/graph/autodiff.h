// Reverse-mode differentiation: extends the builder's graph by the backward
// pass, from each op's own gradient rule.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/builder.h"
#include "graph/standard_ops.h"

namespace plimsoll::graph {

// Of a wanted value that no gradient reaches.
Error no_gradient_reaches(const std::string& name);

// Gradients of `loss` for each of `wanted`, in their order, given the gradient
// `seed` of the loss itself (usually a constant one). A value on which the loss
// does not depend is an error that names it. Nodes are added in
// Phase::backward and carry the name of the node they differentiate.
Result<std::vector<ValueId>> add_gradients(Builder& builder, ValueId loss,
                                           ValueId seed,
                                           std::span<const ValueId> wanted,
                                           const StandardOps& ops);

}  // namespace plimsoll::graph
