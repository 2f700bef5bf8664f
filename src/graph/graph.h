// The step graph: values, the nodes that make them, and persistent state.
// Nodes stand in a valid order of execution; ops are pure, only `assign`
// writes state.
#pragma once

#include <string>
#include <vector>

#include "graph/op_def.h"

namespace plimsoll::graph {

enum class Phase : std::uint8_t { forward, backward, update };

// Roles of persistent values. Learning rate, step, loss scale and random step
// are counters: values in memory, never constants of a kernel.
enum class Role : std::uint8_t {
  parameter,
  optimizer,
  statistic,
  counter,
  metric,
  gradient  // summed over the batches of an update
};
std::string_view name_of(Role role);

// Where a node runs and a state lives.
enum class Place : std::uint8_t {
  home,  // the job's device
  host,  // the host beside it; never where the job's device is the CPU
};

enum class ValueKind : std::uint8_t { input, state, computed };

struct Value {
  std::string name;
  TensorType type;
  ValueKind kind = ValueKind::computed;
  NodeId producer;  // of a computed value
};

struct Node {
  const OpDef* op = nullptr;
  std::string name;  // the layer or step it belongs to, for people
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attrs attrs;
  Phase phase = Phase::forward;
  Place place = Place::home;
  bool repeats = false;  // what a forward node has made before
};

struct State {
  std::string name;
  Role role = Role::parameter;
  ValueId value;
  Place place = Place::home;
};

// Writes `value` into `state` once every reader of the old value has run.
struct Assign {
  ValueId state;
  ValueId value;
};

struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;  // fed each step, in the order of the slot
  std::vector<State> states;
  std::vector<Assign> assigns;
  std::vector<ValueId> outputs;  // readable after the program has run

  const Value& value(ValueId id) const { return values[id.pos()]; }
  const Node& node(NodeId id) const { return nodes[id.pos()]; }
  const TensorType& type(ValueId id) const { return values[id.pos()].type; }
  // The value whose bytes these are: itself, unless it is a view.
  ValueId root_of(ValueId id) const;
  // Where the value's bytes are made or kept; `home` for inputs, which are at
  // hand at every place.
  Place place_of(ValueId id) const;

  // One line a node: for tests and for people.
  std::string to_string() const;
};

}  // namespace plimsoll::graph
