#include "train/optimizer.h"

#include <fmt/core.h>

#include "ops/elementwise/elementwise.h"
#include "ops/embedding/embedding.h"
#include "ops/reduction/reduction.h"
#include "ops/update/update.h"
#include "train/adafactor.h"
#include "train/clipping.h"
#include "train/optimizer_keys.h"
#include "train/row_gradients.h"
#include "train/schedule.h"

namespace plimsoll::train {
namespace {

using graph::Builder;
using graph::Role;
using graph::ValueId;

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
  if (spec.type != "adam") {
    rule.rule =
        spec.type == "lamb" ? ops::UpdateRule::lamb : ops::UpdateRule::adamw;
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

// What LAMB's change is multiplied by, the learning rate being in it: the trust
// ratio |p| / |change / rate|, or 1 where one of them is nothing.
ValueId trusted_rate(Builder& builder, ValueId parameter, ValueId change,
                     ValueId rate) {
  const auto norm = [&](ValueId value) {
    return ops::sqrt(builder,
                     ops::reduce_sum(builder, ops::square(builder, value), {}));
  };
  const ValueId weight = norm(parameter);
  const ValueId size = norm(change);
  if (!builder.ok()) return {};
  const ValueId both =
      ops::multiply(builder, ops::greater_scalar(builder, weight, 0),
                    ops::greater_scalar(builder, size, 0));
  const ValueId one = ops::constant(builder, builder.type(rate), 1);
  return ops::where(
      builder, both,
      ops::divide(builder, ops::multiply(builder, rate, weight), size), one);
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
  // `whole`: of tables too.
  Updates(Builder& builder, const Rule& rule, const UpdateScalars& scalars,
          bool whole)
      : builder_(builder), rule_(rule), scalars_(scalars), whole_(whole) {}

  Status add(const Parameter& parameter, const ClippedGradient& given) {
    builder_.set_scope(parameter.name);
    builder_.set_place(builder_.graph().place_of(parameter.value));
    std::vector<ValueId> states;
    for (const char* name : rule_.slots) {
      states.push_back(slot(parameter, name));
    }
    const auto& form = ops::update_form(rule_.rule);
    const auto rows = whole_ ? std::nullopt : rows_of(builder_, given.gradient);
    const ops::UpdateInputs inputs{
        parameter.value, rows ? rows->dy : given.gradient,
        states,          scalars_.rate,
        scalars_.step,   given.gate};
    const auto next =
        rows ? ops::emit_update_rows(builder_, form, inputs, rows->indices,
                                     rule_.attrs)
             : ops::emit_update(builder_, form, inputs, rule_.attrs);
    if (next.empty()) return builder_.status();
    builder_.assign(parameter.value,
                    rule_.rule == ops::UpdateRule::lamb
                        ? ops::sgd(builder_, parameter.value, next[0],
                                   trusted_rate(builder_, parameter.value,
                                                next[0], scalars_.rate))
                        : next[0]);
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
  const bool whole_;
  std::vector<StartValue> starts_;
};

}  // namespace

bool needs_whole_tables(const OptimizerSpec& optimizer) {
  return optimizer.type == "lamb" || optimizer.type == "adafactor";
}

Result<UpdateCounters> add_counters(Builder& builder,
                                    const OptimizerSpec& optimizer,
                                    DType dtype) {
  const ValueId rate =
      builder.state(kLearningRate, Role::counter, {dtype, Shape{}});
  const ValueId step =
      builder.state(kStep, Role::counter, {DType::i64, Shape{}});
  // Counted before the updates, so that nothing is left to do behind them.
  builder.set_scope("counters");
  if (optimizer.schedule.type.empty()) return UpdateCounters{rate, step};
  PLIMSOLL_RETURN_IF_ERROR(check_optimizer(optimizer));
  // The state is there to be read.
  const ValueId scheduled =
      scheduled_rate(builder, optimizer.schedule, step, dtype);
  builder.assign(rate, scheduled);
  return UpdateCounters{scheduled, step};
}

Result<std::vector<StartValue>> add_updates(
    Builder& builder, const OptimizerSpec& optimizer,
    std::span<const Parameter> parameters, std::span<const ValueId> gradients,
    const UpdateScalars& scalars) {
  PLIMSOLL_RETURN_IF_ERROR(check_optimizer(optimizer));
  PLIMSOLL_ASSIGN(
      const auto clipped,
      clip_gradients(builder, optimizer, parameters, gradients, scalars.gate));
  if (optimizer.type == "adafactor") {
    AdafactorUpdates adafactor(builder, optimizer, scalars);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      builder.set_scope(parameters[i].name);
      builder.set_place(builder.graph().place_of(parameters[i].value));
      adafactor.add(parameters[i], clipped[i]);
    }
    builder.set_place(graph::Place::home);
    if (!builder.ok()) return builder.status().error();
    return std::vector<StartValue>{};
  }
  const Rule rule = rule_of(optimizer);
  Updates updates(builder, rule, scalars, needs_whole_tables(optimizer));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(updates.add(parameters[i], clipped[i]));
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
