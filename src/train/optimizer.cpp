#include "train/optimizer.h"

#include <fmt/core.h>

#include <optional>

#include "ops/elementwise/elementwise.h"
#include "ops/embedding/embedding.h"
#include "ops/update/update.h"
#include "train/optimizer_keys.h"

namespace plimsoll::train {
namespace {

using graph::Builder;
using graph::Role;
using graph::ValueId;

// What an embedding's gradient sums, where it is the whole gradient.
struct Rows {
  ValueId dy;
  ValueId indices;
};
std::optional<Rows> rows_of(const Builder& builder, ValueId gradient) {
  const graph::Graph& graph = builder.graph();
  const graph::NodeId producer = graph.value(gradient).producer;
  if (!producer.valid()) return std::nullopt;
  const graph::Node& node = graph.node(producer);
  const bool of_embedding = node.op->name == "scatter_add" &&
                            node.attrs.get<std::int64_t>("axis") == 0 &&
                            !node.attrs.get<bool>("from_end", true);
  if (!of_embedding) return std::nullopt;
  return Rows{node.inputs[0], node.inputs[1]};
}

// An update and the states it keeps for each parameter.
struct Rule {
  ops::UpdateRule rule = ops::UpdateRule::sgd;
  std::vector<const char*> slots;
  graph::Attrs attrs;
  double start = 0;  // of the states
};

Rule sgd_of(const OptimizerSpec& spec) {
  if (spec.momentum == 0) return {ops::UpdateRule::sgd, {}, {}};
  return {spec.nesterov ? ops::UpdateRule::sgd_nesterov
                        : ops::UpdateRule::sgd_momentum,
          {"velocity"},
          {{"momentum", spec.momentum}}};
}

Rule adam_of(const OptimizerSpec& spec) {
  Rule rule{ops::UpdateRule::adam,
            {"first_moment", "second_moment"},
            {{"beta_1", spec.beta_1},
             {"beta_2", spec.beta_2},
             {"epsilon", spec.epsilon}}};
  if (spec.type == "adamw") {
    rule.rule = ops::UpdateRule::adamw;
    rule.attrs.set("weight_decay", spec.weight_decay);
  }
  return rule;
}

Rule rmsprop_of(const OptimizerSpec& spec) {
  using R = ops::UpdateRule;
  const bool momentum = spec.momentum != 0;
  Rule rule{momentum ? R::rmsprop_momentum : R::rmsprop,
            {"velocity"},
            {{"rho", spec.rho}, {"epsilon", spec.epsilon}}};
  if (momentum) {
    rule.slots.push_back("momentum");
    rule.attrs.set("momentum", spec.momentum);
  }
  if (spec.centered) {
    rule.rule = momentum ? R::rmsprop_centered_momentum : R::rmsprop_centered;
    rule.slots.push_back("average_gradient");
  }
  return rule;
}

Rule rule_of(const OptimizerSpec& spec) {
  if (spec.type == "sgd") return sgd_of(spec);
  if (spec.type == "rmsprop") return rmsprop_of(spec);
  if (spec.type == "adagrad") {
    return {ops::UpdateRule::adagrad,
            {"accumulator"},
            {{"epsilon", spec.epsilon}},
            spec.initial_accumulator_value};
  }
  return adam_of(spec);
}

class Updates {
 public:
  Updates(Builder& builder, const Rule& rule, const UpdateScalars& scalars)
      : builder_(builder), rule_(rule), scalars_(scalars) {}

  Status add(const Parameter& parameter, ValueId gradient) {
    builder_.set_scope(parameter.name);
    builder_.set_place(builder_.graph().place_of(parameter.value));
    std::vector<ValueId> states;
    for (const char* name : rule_.slots) {
      states.push_back(slot(parameter, name));
    }
    const auto& form = ops::update_form(rule_.rule);
    const auto rows = rows_of(builder_, gradient);
    const ops::UpdateInputs inputs{parameter.value, rows ? rows->dy : gradient,
                                   states,          scalars_.rate,
                                   scalars_.step,   scalars_.gate};
    const auto next =
        rows ? ops::emit_update_rows(builder_, form, inputs, rows->indices,
                                     rule_.attrs)
             : ops::emit_update(builder_, form, inputs, rule_.attrs);
    if (next.empty()) return builder_.status();
    builder_.assign(parameter.value, next[0]);
    for (std::size_t k = 0; k < states.size(); ++k) {
      builder_.assign(states[k], next[k + 1]);
    }
    return builder_.status();
  }

  std::vector<StartValue> take_starts() { return std::move(starts_); }

 private:
  ValueId slot(const Parameter& parameter, const char* name) {
    std::string full = fmt::format("{}/{}", parameter.name, name);
    if (rule_.start != 0) starts_.push_back({full, rule_.start});
    return builder_.state(std::move(full), Role::optimizer,
                          builder_.type(parameter.value));
  }

  Builder& builder_;
  const Rule& rule_;
  const UpdateScalars& scalars_;
  std::vector<StartValue> starts_;
};

}  // namespace

Result<std::vector<StartValue>> add_updates(
    Builder& builder, const OptimizerSpec& optimizer,
    std::span<const Parameter> parameters, std::span<const ValueId> gradients,
    const UpdateScalars& scalars) {
  PLIMSOLL_RETURN_IF_ERROR(check_optimizer(optimizer));
  const Rule rule = rule_of(optimizer);
  Updates updates(builder, rule, scalars);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(updates.add(parameters[i], gradients[i]));
  }
  builder.set_place(graph::Place::home);
  return updates.take_starts();
}

ValueId finite_gradients(Builder& builder,
                         std::span<const Parameter> parameters,
                         std::span<const ValueId> gradients) {
  ValueId all;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto rows = rows_of(builder, gradients[i]);
    builder.set_place(builder.graph().place_of(parameters[i].value));
    const ValueId one =
        ops::all_finite(builder, rows ? rows->dy : gradients[i]);
    builder.set_place(graph::Place::home);
    all = all.valid() ? ops::multiply(builder, all, one) : one;
  }
  return all;
}

}  // namespace plimsoll::train
