#include "graph/passes/rewrite.h"

#include <algorithm>

namespace plimsoll::graph {

void replace_uses(Graph& graph, ValueId from, ValueId to) {
  for (Node& node : graph.nodes) {
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  }
  for (Assign& assign : graph.assigns) {
    if (assign.value == from) assign.value = to;
  }
  std::replace(graph.outputs.begin(), graph.outputs.end(), from, to);
}

void keep_nodes(Graph& graph, const std::vector<bool>& keep) {
  std::vector<Node> kept;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    const NodeId id = keep[i] ? NodeId(kept.size()) : NodeId();
    for (const ValueId output : node.outputs) {
      graph.values[output.pos()].producer = id;
    }
    if (keep[i]) kept.push_back(std::move(node));
  }
  graph.nodes = std::move(kept);
}

std::vector<int> count_uses(const Graph& graph) {
  std::vector<int> uses(graph.values.size(), 0);
  for (const Node& node : graph.nodes) {
    for (const ValueId input : node.inputs) ++uses[input.pos()];
  }
  for (const Assign& assign : graph.assigns) ++uses[assign.value.pos()];
  for (const ValueId output : graph.outputs) ++uses[output.pos()];
  return uses;
}

}  // namespace plimsoll::graph
