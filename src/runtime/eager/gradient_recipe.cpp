#include "runtime/eager/gradient_recipe.h"

#include <fmt/core.h>

#include "graph/builder.h"

namespace plimsoll::runtime {
namespace {

using graph::ValueId;
using Ref = GradientRecipe::Ref;

// Which of the builder's nodes lead to the gradients that are wanted.
std::vector<bool> needed_nodes(const graph::Graph& graph,
                               std::span<const ValueId> gradients) {
  std::vector<bool> value_needed(graph.values.size(), false);
  for (const ValueId id : gradients) {
    if (id.valid()) value_needed[id.pos()] = true;
  }
  std::vector<bool> needed(graph.nodes.size(), false);
  for (std::size_t i = graph.nodes.size(); i-- > 1;) {  // 0 is the op itself
    for (const ValueId output : graph.nodes[i].outputs) {
      needed[i] = needed[i] || value_needed[output.pos()];
    }
    if (!needed[i]) continue;
    for (const ValueId input : graph.nodes[i].inputs) {
      value_needed[input.pos()] = true;
    }
  }
  return needed;
}

}  // namespace

Result<GradientRecipe> make_gradient_recipe(const graph::OpDef& op,
                                            const graph::Attrs& attrs,
                                            const graph::TypeList& inputs,
                                            const std::vector<bool>& wanted,
                                            const std::vector<bool>& flowing) {
  if (op.gradient == nullptr) {
    return Error{ErrorCode::unsupported,
                 fmt::format("op `{}` has no gradient", op.name)};
  }
  graph::Builder builder;
  std::vector<ValueId> operands;
  for (const graph::TensorType& type : inputs) {
    operands.push_back(builder.input("x", type));
  }
  const std::vector<ValueId> outputs = builder.emit_all(op, operands, attrs);
  if (!builder.ok()) return builder.status().error();
  std::vector<ValueId> flows;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!flowing[i]) {
      flows.emplace_back();
      continue;
    }
    flows.push_back(
        builder.input("dy", graph::TensorType(builder.type(outputs[i]))));
  }
  graph::GradientContext context{builder, graph::NodeId(0), flows};
  PLIMSOLL_ASSIGN(std::vector<ValueId> gradients, op.gradient(context));
  if (!builder.ok()) return builder.status().error();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!wanted[i]) gradients[i] = {};
  }

  const graph::Graph& graph = builder.graph();
  std::vector<Ref> where(graph.values.size());
  const auto name = [&](std::span<const ValueId> ids, Ref::Kind kind) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!ids[i].valid()) continue;
      where[ids[i].pos()] = {kind, static_cast<int>(i), 0};
    }
  };
  name(operands, Ref::Kind::input);
  name(outputs, Ref::Kind::output);
  name(flows, Ref::Kind::flow);

  GradientRecipe recipe;
  recipe.reads_input.assign(operands.size(), false);
  recipe.reads_output.assign(outputs.size(), false);
  const auto read = [&](ValueId id) {
    const Ref ref = where[id.pos()];
    const auto at = static_cast<std::size_t>(ref.index);
    if (ref.kind == Ref::Kind::input) recipe.reads_input[at] = true;
    if (ref.kind == Ref::Kind::output) recipe.reads_output[at] = true;
    return ref;
  };
  const auto needed = needed_nodes(graph, gradients);
  for (std::size_t i = 1; i < graph.nodes.size(); ++i) {
    if (!needed[i]) continue;
    const graph::Node& node = graph.nodes[i];
    GradientRecipe::Step step{
        node.op, node.attrs, {}, static_cast<int>(node.outputs.size())};
    for (const ValueId input : node.inputs)
      step.operands.push_back(read(input));
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      where[node.outputs[k].pos()] = {Ref::Kind::step,
                                      static_cast<int>(recipe.steps.size()),
                                      static_cast<int>(k)};
    }
    recipe.steps.push_back(std::move(step));
  }
  for (const ValueId id : gradients) {
    recipe.gradients.push_back(id.valid() ? read(id) : Ref{});
  }
  return recipe;
}

}  // namespace plimsoll::runtime
