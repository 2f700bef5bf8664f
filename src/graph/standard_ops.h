// The few ops that the graph layer itself emits; ops/standard_ops.h supplies
// them, so that this folder needs to know no op by name.
#pragma once

#include "graph/op_def.h"

namespace plimsoll::graph {

struct StandardOps {
  const OpDef* add = nullptr;    // sums gradients that meet
  const OpDef* fused = nullptr;  // runs an ElementwiseExpression
  const OpDef* copy = nullptr;   // writes state that cannot be written in place
  const OpDef* pack = nullptr;   // puts a value into a kernel's layout
  const OpDef* unpack = nullptr;  // and back
};

}  // namespace plimsoll::graph
