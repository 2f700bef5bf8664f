#include "train/variable_updates.h"

#include <fmt/core.h>

#include <algorithm>

#include "ops/update/update.h"
#include "plimsoll/tensor.h"
#include "runtime/eager/dispatch.h"
#include "runtime/eager/trace.h"
#include "train/optimizer.h"

namespace plimsoll::train {

using graph::ValueId;
using runtime::VariablePtr;
namespace {

// "w#12/velocity" tells variables of one name apart: to people it is
// "w/velocity".
std::string shown(std::string name) {
  const auto mark = name.rfind('#');
  if (mark == std::string::npos) return name;
  const auto end = name.find('/', mark);
  return name.erase(mark, end == std::string::npos ? end : end - mark);
}

}  // namespace

Result<UpdateGraph> VariableUpdates::build(
    std::span<const VariablePtr> variables) {
  graph::Builder builder;
  std::vector<Parameter> parameters;
  std::vector<ValueId> gradients;
  for (const VariablePtr& variable : variables) {
    const graph::TensorType& type = variable->value->type;
    Parameter parameter;
    parameter.name = fmt::format("{}#{}", variable->name, variable->id);
    parameter.value =
        builder.state(parameter.name, graph::Role::parameter, type);
    parameters.push_back(std::move(parameter));
    gradients.push_back(builder.input("gradient", type));
  }
  const DType dtype = variables[0]->value->type.dtype;
  PLIMSOLL_ASSIGN(const auto counters, add_counters(builder, spec_, dtype));
  const ValueId step = ops::increment(builder, counters.step);
  builder.assign(counters.step, step);
  PLIMSOLL_ASSIGN(const auto starts,
                  add_updates(builder, spec_, parameters, gradients,
                              {counters.rate, step, {}}));
  UpdateGraph made;
  PLIMSOLL_ASSIGN(made.graph, std::move(builder).finish());

  std::map<std::string, double> start_of = {
      {kLearningRate, spec_.learning_rate}};
  for (const auto& start : starts) start_of[start.state] = start.value;
  for (std::size_t i = 0; i < made.graph.states.size(); ++i) {
    const graph::State& state = made.graph.states[i];
    if (i < variables.size()) {
      made.states.push_back(nullptr);  // while it runs
      continue;
    }
    // Counters are everybody's.
    VariablePtr of;
    for (std::size_t k = 0; k < variables.size(); ++k) {
      if (state.name.starts_with(parameters[k].name + "/")) of = variables[k];
    }
    PLIMSOLL_ASSIGN(auto variable,
                    slot({state.name, state.role, made.graph.type(state.value),
                          start_of[state.name]},
                         of, variables[0]->value->home.get()));
    made.states.push_back(std::move(variable));
  }
  return made;
}

Result<VariablePtr> VariableUpdates::slot(const SlotNeed& state,
                                          const VariablePtr& of,
                                          runtime::Eager* home) {
  const graph::TensorType& type = state.type;
  const auto known = slots_.find(state.name);
  if (known != slots_.end()) {
    const VariablePtr& variable = known->second.variable;
    if (variable->value->home.get() == home && variable->value->type == type) {
      return variable;
    }
  }
  // Made in memory even where the update is traced.
  const runtime::TraceScope no_trace(nullptr);
  const runtime::WithoutTapes no_tapes;
  runtime::ValuePtr value;
  if (is_floating(type.dtype)) {
    PLIMSOLL_ASSIGN(value, runtime::filled(type, state.start, home));
  } else {  // the count of updates
    const std::int64_t none = 0;
    PLIMSOLL_ASSIGN(value,
                    home->from_bytes(type, std::as_bytes(std::span(&none, 1))));
  }
  PLIMSOLL_ASSIGN(auto variable,
                  runtime::make_variable(std::move(value), shown(state.name),
                                         state.role, false));
  slots_[state.name] = {variable, of, of != nullptr};
  return variable;
}

Status VariableUpdates::prepare(std::span<const VariablePtr> variables) {
  std::vector<std::uint64_t> now;
  for (const VariablePtr& variable : variables) now.push_back(variable->id);
  if (now == ids_) return {};
  // Moments of variables that are gone.
  std::erase_if(slots_, [](const auto& slot) {
    return slot.second.owned && slot.second.of.expired();
  });
  PLIMSOLL_ASSIGN(update_, build(variables));
  ids_ = std::move(now);
  return {};
}

Status VariableUpdates::apply(std::span<const VariablePtr> variables,
                              std::span<const runtime::ValuePtr> gradients) {
  PLIMSOLL_RETURN_IF_ERROR(prepare(variables));
  std::copy(variables.begin(), variables.end(), update_.states.begin());
  Status updated = run_update(update_, gradients);
  // They are not held in between.
  std::fill_n(update_.states.begin(), variables.size(), nullptr);
  return updated;
}

Result<double> VariableUpdates::number(const char* slot,
                                       double otherwise) const {
  const auto found = slots_.find(slot);
  if (found == slots_.end()) return otherwise;
  const auto& value = found->second.variable->value;
  PLIMSOLL_RETURN_IF_ERROR(value->home->check_open());
  return Tensor(value).item();
}

Result<double> VariableUpdates::learning_rate() const {
  return number(kLearningRate, spec_.learning_rate);
}

Result<double> VariableUpdates::iterations() const { return number(kStep, 0); }

Status VariableUpdates::set_learning_rate(double rate) {
  spec_.learning_rate = rate;
  const auto found = slots_.find(kLearningRate);
  if (found == slots_.end()) return {};
  const VariablePtr& slot = found->second.variable;
  const runtime::Value& now = *slot->value;
  PLIMSOLL_ASSIGN(auto value, runtime::filled(now.type, rate, now.home.get()));
  return runtime::assign_variable(slot, std::move(value));
}

}  // namespace plimsoll::train
