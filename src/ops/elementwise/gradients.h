// The gradient rule that all element-wise ops share.
#pragma once

#include <vector>

#include "graph/op_def.h"

namespace plimsoll::ops {

Result<std::vector<graph::ValueId>> elementwise_gradient(
    graph::GradientContext& context);

}  // namespace plimsoll::ops
