#include "graph/autodiff.h"

#include <fmt/core.h>

namespace plimsoll::graph {
namespace {

// Marks every value that changes when one of `wanted` changes.
std::vector<bool> dependents(const Graph& graph,
                             std::span<const ValueId> wanted) {
  std::vector<bool> depends(graph.values.size(), false);
  for (const ValueId id : wanted) depends[id.pos()] = true;
  for (const Node& node : graph.nodes) {
    bool any = false;
    for (const ValueId input : node.inputs) any = any || depends[input.pos()];
    if (!any) continue;
    for (const ValueId output : node.outputs) depends[output.pos()] = true;
  }
  return depends;
}

class Backward {
 public:
  Backward(Builder& builder, const StandardOps& ops,
           std::span<const ValueId> wanted)
      : builder_(builder),
        ops_(ops),
        depends_(dependents(builder.graph(), wanted)),
        gradients_(builder.graph().values.size()) {}

  void seed(ValueId value, ValueId gradient) {
    gradients_[value.pos()] = gradient;
  }
  ValueId gradient_of(ValueId value) const { return gradients_[value.pos()]; }

  Status visit(NodeId id) {
    const Node node = builder_.graph().node(id);
    std::vector<ValueId> from_outputs;
    bool reached = false;
    bool relevant = false;
    for (const ValueId output : node.outputs) {
      from_outputs.push_back(gradients_[output.pos()]);
      reached = reached || from_outputs.back().valid();
    }
    for (const ValueId input : node.inputs) {
      relevant = relevant || depends_[input.pos()];
    }
    if (!reached || !relevant) return {};
    if (node.op->gradient == nullptr) {
      return Error{
          ErrorCode::unsupported,
          fmt::format("{}: op `{}` has no gradient", node.name, node.op->name)};
    }
    builder_.set_scope(node.name);
    builder_.set_place(node.place);
    GradientContext context{builder_, id, from_outputs};
    PLIMSOLL_ASSIGN(const auto gradients, node.op->gradient(context));
    if (!builder_.ok()) return builder_.status().error();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (gradients[i].valid() && depends_[node.inputs[i].pos()]) {
        accumulate(node.inputs[i], gradients[i]);
      }
    }
    return {};
  }

 private:
  void accumulate(ValueId value, ValueId gradient) {
    ValueId& sum = gradients_[value.pos()];
    sum = sum.valid() ? builder_.emit(*ops_.add, {sum, gradient}) : gradient;
  }

  Builder& builder_;
  const StandardOps& ops_;
  std::vector<bool> depends_;
  std::vector<ValueId> gradients_;
};

}  // namespace

Error no_gradient_reaches(const std::string& name) {
  return {ErrorCode::bad_input,
          fmt::format("the loss does not depend on `{}`", name)};
}

Result<std::vector<ValueId>> add_gradients(Builder& builder, ValueId loss,
                                           ValueId seed,
                                           std::span<const ValueId> wanted,
                                           const StandardOps& ops) {
  if (!builder.ok()) return builder.status().error();
  const std::string scope = builder.scope();
  const Phase phase = builder.phase();
  const Place place = builder.place();
  builder.set_phase(Phase::backward);

  Backward backward(builder, ops, wanted);
  backward.seed(loss, seed);
  for (std::size_t i = builder.graph().nodes.size(); i-- > 0;) {
    PLIMSOLL_RETURN_IF_ERROR(backward.visit(NodeId(i)));
  }
  std::vector<ValueId> gradients;
  for (const ValueId id : wanted) {
    gradients.push_back(backward.gradient_of(id));
    if (!gradients.back().valid()) {
      return no_gradient_reaches(builder.graph().value(id).name);
    }
  }
  builder.set_scope(scope);
  builder.set_phase(phase);
  builder.set_place(place);
  if (!builder.ok()) return builder.status().error();
  return gradients;
}

}  // namespace plimsoll::graph
