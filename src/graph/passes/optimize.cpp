#include "graph/passes.h"

namespace plimsoll::graph {

Graph optimize(Graph graph, const StandardOps& ops) {
  graph = remove_dead_code(std::move(graph));
  graph = add_transfers(std::move(graph), *ops.copy);
  graph = merge_common_subexpressions(std::move(graph));
  // Epilogues first: a relu that a product can absorb must not be fused away.
  graph = fold_epilogues(pool_before_relu(std::move(graph)));
  graph = remove_dead_code(std::move(graph));
  return remove_dead_code(fuse_elementwise(std::move(graph), *ops.fused));
}

}  // namespace plimsoll::graph
