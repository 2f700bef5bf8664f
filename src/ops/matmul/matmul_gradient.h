#pragma once

#include "graph/op_def.h"

namespace plimsoll::ops {

// All combinations of transposes, batches, bias and activation.
Result<std::vector<graph::ValueId>> matmul_gradient(
    graph::GradientContext& context);

}  // namespace plimsoll::ops
