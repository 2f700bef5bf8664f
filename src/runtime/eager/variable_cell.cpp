#include "runtime/eager/variable_cell.h"

#include <fmt/core.h>

#include "runtime/eager/dispatch.h"
#include "runtime/eager/tape.h"
#include "runtime/eager/trace.h"

namespace plimsoll::runtime {
namespace {

Purpose purpose_of(graph::Role role) {
  switch (role) {
    case graph::Role::optimizer:
    case graph::Role::counter:
      return Purpose::optimizer;
    case graph::Role::gradient:
      return Purpose::gradients;
    default:
      return Purpose::parameters;
  }
}

// Gives it a value that others may have too: the same memory under a number of
// its own, since what a tape knows of the tensor is not the variable's.
void share(VariableCell& variable, ValuePtr value) {
  if (value.use_count() > 1 || value->root) {
    variable.value = std::const_pointer_cast<Value>(same_bytes(value));
    return;
  }
  variable.value = std::const_pointer_cast<Value>(std::move(value));
  variable.value->keep();
  variable.value->id = next_value_id();
  Value& own = *variable.value;
  own.home->pool().hand_over(own.block, variable.owner);
}

}  // namespace

Result<VariablePtr> make_variable(ValuePtr value, std::string name,
                                  graph::Role role, bool trainable) {
  if (value->trace != 0 || current_trace() != nullptr) {
    return Error{ErrorCode::bad_input,
                 fmt::format("variable `{}` is made inside of a traced "
                             "function: make it once, outside, and use it "
                             "there",
                             name)};
  }
  PLIMSOLL_RETURN_IF_ERROR(value->home->check_open());
  auto variable = std::make_shared<VariableCell>();
  variable->id = next_value_id();
  variable->name = std::move(name);
  variable->role = role;
  variable->trainable = trainable && is_floating(value->type.dtype);
  variable->owner = value->home->pool().owner(variable->name, purpose_of(role));
  share(*variable, std::move(value));
  return variable;
}

Result<ValuePtr> read_variable(const VariablePtr& variable) {
  ValuePtr value = variable->value;
  if (Trace* const trace = current_trace()) {
    PLIMSOLL_ASSIGN(value, trace->read(variable));
  }
  if (variable->trainable) {
    for (Tape* tape : recording_tapes()) tape->read(variable->id, value);
  }
  return value;
}

Status assign_variable(const VariablePtr& variable, ValuePtr value) {
  if (variable->value->type != value->type) {
    return Error{ErrorCode::bad_input,
                 fmt::format("variable `{}` is {}, but is assigned {}",
                             variable->name, variable->value->type.to_string(),
                             value->type.to_string())};
  }
  if (Trace* const trace = current_trace()) {
    return trace->assign(variable, value);
  }
  PLIMSOLL_RETURN_IF_ERROR(check_in_memory(*value));
  PLIMSOLL_RETURN_IF_ERROR(value->home->check_open());
  if (value->home != variable->value->home) {
    return Error{ErrorCode::bad_input,
                 fmt::format("variable `{}` is assigned a tensor of another "
                             "session",
                             variable->name)};
  }
  share(*variable, std::move(value));
  return {};
}

Status own_value(VariableCell& variable) {
  std::shared_ptr<Value>& value = variable.value;
  PLIMSOLL_RETURN_IF_ERROR(value->home->check_open());
  if (value.use_count() == 1 && value->root.use_count() == 1 &&
      value->root->type == value->type) {
    value = std::const_pointer_cast<Value>(value->root);
    value->home->pool().hand_over(value->block, variable.owner);
  }
  if (value.use_count() == 1 && !value->root) {
    value->id = next_value_id();
    return {};
  }
  PLIMSOLL_ASSIGN(value, value->home->copy(*value));
  value->home->pool().hand_over(value->block, variable.owner);
  return {};
}

}  // namespace plimsoll::runtime
