// What stands behind a public variable: a value that is replaced.
#pragma once

#include <string>

#include "graph/graph.h"
#include "runtime/eager/eager.h"

namespace plimsoll::runtime {

struct VariableCell {
  std::uint64_t id = 0;  // never used twice
  std::string name;
  graph::Role role = graph::Role::parameter;
  bool trainable = true;
  std::int32_t owner = 0;  // in the pool of its session
  // Whoever holds it beside the cell keeps the numbers of then: it is written
  // to only where nobody does.
  std::shared_ptr<Value> value;
};
using VariablePtr = std::shared_ptr<VariableCell>;

// Shares the value until one of them changes.
Result<VariablePtr> make_variable(ValuePtr value, std::string name,
                                  graph::Role role, bool trainable);

// Its value now. Tapes of this thread take it for the variable's.
Result<ValuePtr> read_variable(const VariablePtr& variable);
// From here on it has this value, of the same type.
Status assign_variable(const VariablePtr& variable, ValuePtr value);

// Before its value is written to: a copy where somebody else holds it, and in
// any case under another number, since it will be another value.
Status own_value(VariableCell& variable);

}  // namespace plimsoll::runtime
