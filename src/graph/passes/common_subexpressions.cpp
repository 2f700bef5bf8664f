#include <fmt/core.h>

#include <unordered_map>

#include "graph/passes.h"
#include "graph/passes/rewrite.h"

namespace plimsoll::graph {

Graph merge_common_subexpressions(Graph graph) {
  std::unordered_map<std::string, std::size_t> seen;
  std::vector<bool> keep(graph.nodes.size(), true);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    std::string key =
        fmt::format("{}({}) @{}", node.op->name, node.attrs.to_string(),
                    static_cast<int>(node.place));
    for (const ValueId input : node.inputs) {
      key += fmt::format(" {}", input.index);
    }
    const auto [first, is_new] = seen.emplace(std::move(key), i);
    if (is_new) continue;
    keep[i] = false;
    const Node& earlier = graph.nodes[first->second];
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      replace_uses(graph, node.outputs[k], earlier.outputs[k]);
    }
  }
  keep_nodes(graph, keep);
  return graph;
}

}  // namespace plimsoll::graph
