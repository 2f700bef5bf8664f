#include "runtime/eager/trace.h"

#include <fmt/core.h>

#include "graph/passes.h"
#include "ops/standard_ops.h"
#include "runtime/eager/owner_scope.h"

namespace plimsoll::runtime {

using graph::ValueId;

Trace*& current_trace() {
  thread_local Trace* trace = nullptr;
  return trace;
}

Trace::Trace(std::shared_ptr<Eager> home)
    : home_(std::move(home)), number_(next_value_id()) {
  builder_.set_scope("function");
}

ValuePtr Trace::symbol(ValueId id) {
  auto value = std::make_shared<Value>();
  value->type = builder_.type(id);
  value->id = next_value_id();
  value->home = home_;
  value->trace = number_;
  value->symbol = id;
  return value;
}

ValuePtr Trace::argument(graph::TensorType type) {
  return symbol(builder_.input(fmt::format("argument {}", ++arguments_),
                               std::move(type)));
}

Result<ValueId> Trace::place_of(const ValuePtr& value) {
  if (value->trace == number_) return value->symbol;
  if (value->trace != 0) {
    return Error{ErrorCode::bad_input,
                 "a tensor of another traced function, which has ended, is "
                 "used: return it from there"};
  }
  if (value->home != home_) {
    return Error{ErrorCode::bad_input,
                 "a traced function uses a tensor of another session"};
  }
  const auto found = captured_ids_.find(value->id);
  if (found != captured_ids_.end()) return found->second;
  const ValueId id = builder_.input(
      fmt::format("captured {}", captured_.size() + 1), value->type);
  captured_ids_.emplace(value->id, id);
  captured_.push_back(value);
  return id;
}

Result<Values> Trace::emit(const graph::OpDef& op,
                           std::span<const ValuePtr> inputs,
                           const graph::Attrs& attrs,
                           std::shared_ptr<PreparedOp>& prepared) {
  std::vector<ValueId> ids;
  auto made = std::make_shared<PreparedOp>();
  made->op = &op;
  made->attrs = attrs;
  for (const ValuePtr& input : inputs) {
    PLIMSOLL_ASSIGN(const ValueId id, place_of(input));
    ids.push_back(id);
    made->inputs.push_back(input->type);
  }
  // Asked first: a mistake must not end the trace, since it may be caught.
  PLIMSOLL_ASSIGN(made->outputs, op.infer(made->inputs, attrs));
  builder_.set_scope(current_scope() ? current_scope()->name : "function");
  Values outputs;
  for (const ValueId id : builder_.emit_all(op, std::move(ids), attrs)) {
    outputs.push_back(symbol(id));
  }
  if (!builder_.ok()) return builder_.status().error();
  prepared = std::move(made);
  return outputs;
}

Result<Trace::Known*> Trace::known(const VariablePtr& variable) {
  const auto found = variable_ids_.find(variable->id);
  if (found != variable_ids_.end()) return &variables_[found->second];
  if (variable->value->home != home_) {
    return Error{ErrorCode::bad_input,
                 fmt::format("variable `{}` belongs to another session than "
                             "the arguments of the function",
                             variable->name)};
  }
  const ValueId state =
      builder_.state(fmt::format("{}#{}", variable->name, variables_.size()),
                     variable->role, variable->value->type);
  variable_ids_.emplace(variable->id, variables_.size());
  variables_.push_back({variable, state, symbol(state), false});
  return &variables_.back();
}

Result<ValuePtr> Trace::read(const VariablePtr& variable) {
  PLIMSOLL_ASSIGN(const Known* entry, known(variable));
  return entry->value;
}

Status Trace::assign(const VariablePtr& variable, const ValuePtr& value) {
  PLIMSOLL_ASSIGN(Known* const entry, known(variable));
  PLIMSOLL_ASSIGN(const ValueId id, place_of(value));
  // Under another number: to tapes it is not what was assigned.
  entry->value = symbol(id);
  entry->assigned = true;
  return {};
}

// A value that a node of the graph makes: results and new states are not parts
// of inputs, nor of states that may be overwritten.
ValueId Trace::computed(ValueId id) {
  const ValueId root = builder_.graph().root_of(id);
  if (root == id &&
      builder_.graph().value(id).kind == graph::ValueKind::computed) {
    return id;
  }
  return builder_.emit(*ops::standard_ops().copy, {id});
}

Result<TracedGraph> Trace::finish(std::span<const ValuePtr> outputs) {
  TracedGraph traced;
  for (const ValuePtr& output : outputs) {
    PLIMSOLL_ASSIGN(const ValueId id, place_of(output));
    builder_.output(computed(id));
  }
  builder_.set_phase(graph::Phase::update);
  for (const Known& entry : variables_) {
    traced.states.push_back(entry.variable);
    traced.assigned.push_back(entry.assigned);
    if (entry.assigned) {
      builder_.assign(entry.state, computed(entry.value->symbol));
    }
  }
  PLIMSOLL_ASSIGN(graph::Graph graph, std::move(builder_).finish());
  traced.graph = graph::optimize(std::move(graph), ops::standard_ops());
  traced.arguments = arguments_;
  traced.captured = std::move(captured_);
  return traced;
}

}  // namespace plimsoll::runtime
