// Gradients of tables that are sums of a batch's rows.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/builder.h"

namespace plimsoll::train {

// What an embedding's gradient sums, where it is the whole gradient.
struct RowGradient {
  graph::ValueId dy;
  graph::ValueId indices;
};

inline std::optional<RowGradient> rows_of(const graph::Builder& builder,
                                          graph::ValueId gradient) {
  const graph::Graph& graph = builder.graph();
  const graph::NodeId producer = graph.value(gradient).producer;
  if (!producer.valid()) return std::nullopt;
  const graph::Node& node = graph.node(producer);
  const bool of_embedding = node.op->name == "scatter_add" &&
                            node.attrs.get<std::int64_t>("axis") == 0 &&
                            !node.attrs.get<bool>("from_end", true);
  if (!of_embedding) return std::nullopt;
  return RowGradient{node.inputs[0], node.inputs[1]};
}

}  // namespace plimsoll::train
