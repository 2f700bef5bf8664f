#include "graph/passes.h"

namespace plimsoll::graph {

Graph optimize(const Graph& graph, const StandardOps& ops) {
  Graph better = merge_common_subexpressions(
      add_transfers(remove_dead_code(graph), *ops.copy));
  // Epilogues first: a relu that a product can absorb must not be fused away.
  better = remove_dead_code(fold_epilogues(better));
  better = remove_dead_code(fuse_elementwise(better, *ops.fused));
  // Last: merging would undo it, and what was fused is cheap to make as one.
  return remake_in_backward(better, *ops.fused);
}

}  // namespace plimsoll::graph
