// Small edits that passes are made of.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace plimsoll::graph {

// Every reader of `from` (nodes, assigns, outputs) reads `to` instead.
void replace_uses(Graph& graph, ValueId from, ValueId to);

// Keeps the nodes whose flag is set, in their order, and renumbers them.
void keep_nodes(Graph& graph, const std::vector<bool>& keep);

// How many nodes, assigns and outputs read each value.
std::vector<int> count_uses(const Graph& graph);

}  // namespace plimsoll::graph
