#pragma once

#include <vector>

#include "ops/reference.h"

namespace plimsoll::ops {

void step_function_reference(const std::vector<RefTensor>& in,
                             const graph::Attrs& attrs,
                             std::vector<RefTensor>& out);

}  // namespace plimsoll::ops
