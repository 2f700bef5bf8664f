// Rewrites of a graph that keep its meaning. They are handed the graph itself:
// of a deep network each copy counts.
#pragma once

#include "graph/graph.h"
#include "graph/standard_ops.h"

namespace plimsoll::graph {

// Drops nodes whose results nobody reads.
Graph remove_dead_code(Graph graph);
// Merges nodes with the same op, inputs and attributes.
Graph merge_common_subexpressions(Graph graph);
// max_pool2d of relu becomes relu of max_pool2d, with their gradients, where
// nobody else reads what relu gives.
Graph pool_before_relu(Graph graph);
// matmul or conv2d + bias (+ relu) become one op with an epilogue; rows that
// are added to zeros and then to a value are added to the value.
Graph fold_epilogues(Graph graph);
// Element-wise nodes of one domain become `fused` nodes.
Graph fuse_elementwise(Graph graph, const OpDef& fused);
// Brings what a node reads to the node's place, and results to the place of
// their state, by `copy` nodes. Outputs of the graph are wanted at home.
Graph add_transfers(Graph graph, const OpDef& copy);

// All of them, in the order that works.
Graph optimize(Graph graph, const StandardOps& ops);

}  // namespace plimsoll::graph
