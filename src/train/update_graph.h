// The update of some variables, node by node: at once, or traced.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"
#include "runtime/eager/variable_cell.h"

namespace plimsoll::train {

// States are variables, inputs are gradients.
struct UpdateGraph {
  graph::Graph graph;
  std::vector<runtime::VariablePtr> states;  // by the graph's
};

// Variables have their new values. Those whose old ones nobody holds or reads
// any more are written to in place, when everything else is there: where there
// is no memory nothing has changed.
Status run_update(const UpdateGraph& update,
                  std::span<const runtime::ValuePtr> gradients);

}  // namespace plimsoll::train
