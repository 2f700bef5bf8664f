#include "graph/passes.h"
#include "graph/passes/rewrite.h"

namespace plimsoll::graph {

Graph remove_dead_code(Graph graph) {
  std::vector<bool> wanted(graph.values.size(), false);
  for (const Assign& assign : graph.assigns) {
    wanted[assign.value.pos()] = true;
  }
  for (const ValueId output : graph.outputs) wanted[output.pos()] = true;

  std::vector<bool> keep(graph.nodes.size(), false);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    for (const ValueId output : node.outputs) {
      keep[i] = keep[i] || wanted[output.pos()];
    }
    if (!keep[i]) continue;
    for (const ValueId input : node.inputs) wanted[input.pos()] = true;
  }
  keep_nodes(graph, keep);
  return graph;
}

}  // namespace plimsoll::graph
