#include "runtime/eager/invoke.h"

namespace plimsoll::runtime {

Result<Values> invoke(std::span<const ValuePtr> operands, const Build& build) {
  graph::Builder builder;
  std::vector<graph::ValueId> ids;
  for (const ValuePtr& operand : operands) {
    ids.push_back(builder.input("x", operand->type));
  }
  const std::vector<graph::ValueId> results = build(builder, ids);
  if (!builder.ok()) return builder.status().error();
  const graph::Graph& graph = builder.graph();
  std::vector<int> readers(graph.values.size(), 0);
  for (const graph::Node& node : graph.nodes) {
    for (const graph::ValueId input : node.inputs) ++readers[input.pos()];
  }
  for (const graph::ValueId result : results) ++readers[result.pos()];

  Eager* const home = operands.empty() ? nullptr : operands[0]->home.get();
  Values made(graph.values.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    made[ids[i].pos()] = operands[i];
  }
  for (const graph::Node& node : graph.nodes) {
    Values inputs;
    for (const graph::ValueId id : node.inputs) {
      inputs.push_back(made[id.pos()]);
      if (--readers[id.pos()] == 0) made[id.pos()] = nullptr;
    }
    PLIMSOLL_ASSIGN(auto outputs, dispatch(*node.op, inputs, node.attrs, home));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (readers[node.outputs[i].pos()] == 0) continue;
      made[node.outputs[i].pos()] = std::move(outputs[i]);
    }
  }
  Values values;
  for (const graph::ValueId result : results) {
    values.push_back(made[result.pos()]);
  }
  return values;
}

Result<ValuePtr> invoke_one(std::span<const ValuePtr> operands,
                            const BuildOne& build) {
  PLIMSOLL_ASSIGN(auto values,
                  invoke(operands, [&](graph::Builder& builder, auto ids) {
                    return std::vector<graph::ValueId>{build(builder, ids)};
                  }));
  return std::move(values[0]);
}

}  // namespace plimsoll::runtime
