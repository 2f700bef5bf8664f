// Plain f64 references, one an op, that the harness measures kernels against.
// They live beside the kernels but in a target that only tests link.
#pragma once

#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace plimsoll::ops {

// Dense row-major values of one tensor, whatever its dtype, as doubles.
struct RefTensor {
  graph::TensorType type;  // fixed shape
  std::vector<double> values;
};

// Fills `outputs[i].values` (types are set, values sized) from `inputs`.
using ReferenceFn = void (*)(const std::vector<RefTensor>& inputs,
                             const graph::Attrs& attrs,
                             std::vector<RefTensor>& outputs);

struct Reference {
  std::string_view op;
  ReferenceFn run = nullptr;
};

// Null where an op has none: the registry test then fails and names it.
ReferenceFn find_reference(std::string_view op);

}  // namespace plimsoll::ops
