#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <queue>
#include <string>

#include "graph/passes.h"

namespace plimsoll::graph {
namespace {

// Beyond these a group no longer keeps its intermediate results in L1. The
// operand limits match what `fused` can update in place.
constexpr std::size_t kMostInstructions = 48;
constexpr std::size_t kMostInputs = 16;
constexpr std::size_t kMostOutputs = 8;

bool is_constant(const Node& node) {
  return node.op->elementwise == ElementwiseCode::constant;
}

// f32, bf16 and f16 are all computed in f32: they go together.
bool same_computation(DType a, DType b) {
  return is_floating(a) && is_floating(b) &&
         (a == DType::f64) == (b == DType::f64);
}

// A constant has one value everywhere: groups take it as an instruction of
// their own instead of reading it, so it is nobody's member.
bool can_join(const Graph& graph, const Node& node) {
  const DType made = graph.type(node.outputs[0]).dtype;
  return node.op->elementwise && !is_constant(node) && is_floating(made) &&
         std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) {
                       return same_computation(graph.type(input).dtype, made);
                     });
}

// A bit a unit, many at a time: each node is held against all before it.
class UnitSet {
 public:
  explicit UnitSet(std::size_t count) : words_((count + 63) / 64, 0) {}

  bool has(std::size_t unit) const {
    return (words_[unit / 64] >> unit % 64 & 1) != 0;
  }
  void add(std::size_t unit) { words_[unit / 64] |= bit(unit); }
  void remove(std::size_t unit) { words_[unit / 64] &= ~bit(unit); }
  void add_all(const UnitSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      words_[i] |= other.words_[i];
    }
  }
  // Whether `found` holds for one of them.
  template <class F>
  bool any(const F& found) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t left = words_[i]; left != 0; left &= left - 1) {
        if (found(64 * i + static_cast<std::size_t>(std::countr_zero(left)))) {
          return true;
        }
      }
    }
    return false;
  }

 private:
  static std::uint64_t bit(std::size_t unit) {
    return std::uint64_t{1} << unit % 64;
  }

  std::vector<std::uint64_t> words_;
};

// Nodes partitioned into units that run as one, kept free of cycles.
class Units {
 public:
  explicit Units(const Graph& graph)
      : graph_(graph),
        unit_of_(graph.nodes.size()),
        readers_(find_readers(graph)) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      unit_of_[i] = i;
      members_.push_back({i});
      before_.emplace_back(graph.nodes.size());
      for (const ValueId input : graph.nodes[i].inputs) {
        const NodeId producer = graph.value(input).producer;
        if (producer.valid()) add_before(i, unit_of_[producer.pos()]);
      }
      if (can_join(graph, graph.nodes[i])) join_producers(i);
    }
  }

  std::size_t unit_of(std::size_t node) const { return unit_of_[node]; }
  const std::vector<std::size_t>& members(std::size_t unit) const {
    return members_[unit];
  }

 private:
  using Readers = std::vector<std::vector<std::size_t>>;
  // Nodes that read each value; one past the last for assigns and outputs.
  static Readers find_readers(const Graph& graph) {
    Readers readers(graph.values.size());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const ValueId input : graph.nodes[i].inputs) {
        readers[input.pos()].push_back(i);
      }
    }
    for (const Assign& assign : graph.assigns) {
      readers[assign.value.pos()].push_back(graph.nodes.size());
    }
    for (const ValueId output : graph.outputs) {
      readers[output.pos()].push_back(graph.nodes.size());
    }
    return readers;
  }

  void add_before(std::size_t unit, std::size_t earlier) {
    if (unit == earlier) return;
    before_[unit].add(earlier);
    before_[unit].add_all(before_[earlier]);
  }

  void join_producers(std::size_t node) {
    for (const ValueId input : graph_.nodes[node].inputs) {
      const NodeId producer = graph_.value(input).producer;
      if (!producer.valid()) continue;
      const std::size_t unit = unit_of_[node];
      const std::size_t other = unit_of_[producer.pos()];
      if (unit != other && alike(node, producer.pos()) &&
          !makes_cycle(unit, other) && small_enough(unit, other)) {
        merge(unit, other);
      }
    }
  }

  bool alike(std::size_t a, std::size_t b) const {
    const Node& x = graph_.nodes[a];
    const Node& y = graph_.nodes[b];
    const TensorType& left = graph_.type(x.outputs[0]);
    const TensorType& right = graph_.type(y.outputs[0]);
    return can_join(graph_, y) && x.phase == y.phase && x.place == y.place &&
           left.shape == right.shape &&
           same_computation(left.dtype, right.dtype);
  }

  // Whether a third unit has to run after one of them and before the other.
  bool makes_cycle(std::size_t a, std::size_t b) const {
    const auto between = [&](std::size_t first, std::size_t last) {
      return before_[last].any([&](std::size_t unit) {
        return unit != first && before_[unit].has(first);
      });
    };
    return between(a, b) || between(b, a);
  }

  bool small_enough(std::size_t a, std::size_t b) const {
    std::vector<std::size_t> both = members_[a];
    both.insert(both.end(), members_[b].begin(), members_[b].end());
    std::vector<ValueId> made;
    std::vector<ValueId> read;
    for (const std::size_t member : both) {
      made.push_back(graph_.nodes[member].outputs[0]);
    }
    for (const std::size_t member : both) {
      for (const ValueId input : graph_.nodes[member].inputs) {
        if (std::find(made.begin(), made.end(), input) == made.end() &&
            std::find(read.begin(), read.end(), input) == read.end()) {
          read.push_back(input);
        }
      }
    }
    const auto outputs =
        std::count_if(made.begin(), made.end(), [&](ValueId value) {
          const auto& readers = readers_[value.pos()];
          return std::any_of(
              readers.begin(), readers.end(), [&](std::size_t reader) {
                return std::find(both.begin(), both.end(), reader) ==
                       both.end();
              });
        });
    return both.size() <= kMostInstructions && read.size() <= kMostInputs &&
           static_cast<std::size_t>(outputs) <= kMostOutputs;
  }

  void merge(std::size_t into, std::size_t from) {
    for (const std::size_t member : members_[from]) unit_of_[member] = into;
    members_[into].insert(members_[into].end(), members_[from].begin(),
                          members_[from].end());
    std::sort(members_[into].begin(), members_[into].end());
    members_[from].clear();
    before_[into].add_all(before_[from]);
    before_[into].remove(from);
    before_[into].remove(into);
    // Whoever ran after either now runs after both and all before them.
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (before_[i].has(from) || before_[i].has(into)) {
        before_[i].remove(from);
        add_before(i, into);
      }
    }
  }

  const Graph& graph_;
  std::vector<std::size_t> unit_of_;               // by node
  std::vector<std::vector<std::size_t>> members_;  // by unit, in graph order
  std::vector<UnitSet> before_;  // by unit: units run before it
  Readers readers_;              // by value
};

// Turns the members of one unit into one node.
class GroupWriter {
 public:
  GroupWriter(const Graph& graph, const std::vector<std::size_t>& members)
      : graph_(graph), members_(members) {
    for (const std::size_t member : members) {
      for (const ValueId input : graph.nodes[member].inputs) collect(input);
      made_.push_back(graph.nodes[member].outputs[0]);
    }
    expression_.inputs = static_cast<int>(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      operand_of_[inputs_[i]] = static_cast<int>(i);
    }
  }

  // `wanted`: values that somebody outside the group reads.
  Node write(const OpDef& fused, const std::vector<bool>& wanted) {
    for (const std::size_t member : members_) add(graph_.nodes[member]);
    const Node& last = graph_.nodes[members_.back()];
    Node node{&fused, last.name, inputs_, {}, {}, last.phase, last.place};
    for (const ValueId value : made_) {
      if (!wanted[value.pos()]) continue;
      node.outputs.push_back(value);
      expression_.results.push_back(operand_of_[value]);
    }
    node.attrs = to_attrs(expression_);
    node.attrs.set("shape", graph_.type(last.outputs[0]).shape);
    set_types(node, graph_.type(last.outputs[0]).dtype);
    return node;
  }

 private:
  void set_types(Node& node, DType first) const {
    bool mixed = false;
    std::vector<std::int64_t> types;
    for (const ValueId output : node.outputs) {
      types.push_back(static_cast<std::int64_t>(graph_.type(output).dtype));
      mixed = mixed || graph_.type(output).dtype != first;
    }
    for (const ValueId input : node.inputs) {
      mixed = mixed || graph_.type(input).dtype != first;
    }
    if (mixed) {
      node.attrs.set("dtypes", std::move(types));
    } else {
      node.attrs.set("dtype", std::string(name_of(first)));
    }
  }

  const Node* constant_behind(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    if (!producer.valid() || !is_constant(graph_.node(producer))) {
      return nullptr;
    }
    return &graph_.node(producer);
  }

  void collect(ValueId input) {
    const bool known =
        std::find(made_.begin(), made_.end(), input) != made_.end() ||
        std::find(inputs_.begin(), inputs_.end(), input) != inputs_.end();
    if (!known && !constant_behind(input)) inputs_.push_back(input);
  }

  int operand(ValueId value) {
    const auto known = operand_of_.find(value);
    if (known != operand_of_.end()) return known->second;
    const Node* constant = constant_behind(value);
    return append(value, {ElementwiseCode::constant, -1, -1,
                          constant->attrs.get<double>("scalar")});
  }

  int append(ValueId value, ElementwiseInstruction instruction) {
    expression_.instructions.push_back(instruction);
    return operand_of_[value] =
               expression_.inputs +
               static_cast<int>(expression_.instructions.size()) - 1;
  }

  void add(const Node& node) {
    ElementwiseInstruction step{*node.op->elementwise, -1, -1,
                                node.attrs.get<double>("scalar")};
    if (!node.inputs.empty()) step.a = operand(node.inputs[0]);
    if (node.inputs.size() > 1) step.b = operand(node.inputs[1]);
    if (node.inputs.size() > 2) step.c = operand(node.inputs[2]);
    append(node.outputs[0], step);
  }

  const Graph& graph_;
  const std::vector<std::size_t>& members_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> made_;
  std::map<ValueId, int> operand_of_;
  ElementwiseExpression expression_;
};

// Values read by another unit, by an assign, or after the program.
std::vector<bool> read_outside(const Graph& graph, const Units& units) {
  std::vector<bool> wanted(graph.values.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId input : graph.nodes[i].inputs) {
      const NodeId producer = graph.value(input).producer;
      if (producer.valid() &&
          units.unit_of(producer.pos()) != units.unit_of(i)) {
        wanted[input.pos()] = true;
      }
    }
  }
  for (const Assign& assign : graph.assigns) wanted[assign.value.pos()] = true;
  for (const ValueId output : graph.outputs) wanted[output.pos()] = true;
  return wanted;
}

// Units in an order that respects what runs before what, otherwise by the
// place of their last member.
std::vector<std::size_t> order_units(const Graph& graph, const Units& units) {
  const std::size_t count = graph.nodes.size();
  std::vector<std::size_t> waiting_for(count, 0);  // reads of others' values
  std::vector<std::vector<std::size_t>> readers(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t unit = units.unit_of(i);
    for (const ValueId input : graph.nodes[i].inputs) {
      const NodeId producer = graph.value(input).producer;
      if (!producer.valid()) continue;
      const std::size_t other = units.unit_of(producer.pos());
      if (other == unit) continue;
      readers[other].push_back(unit);
      ++waiting_for[unit];
    }
  }
  const auto later = [&](std::size_t a, std::size_t b) {
    return units.members(a).back() > units.members(b).back();
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)>
      ready(later);
  for (std::size_t unit = 0; unit < count; ++unit) {
    if (!units.members(unit).empty() && waiting_for[unit] == 0) {
      ready.push(unit);
    }
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t unit = ready.top();
    ready.pop();
    order.push_back(unit);
    for (const std::size_t reader : readers[unit]) {
      if (--waiting_for[reader] == 0) ready.push(reader);
    }
  }
  return order;
}

}  // namespace

Graph fuse_elementwise(Graph graph, const OpDef& fused) {
  const Units units(graph);
  const std::vector<bool> wanted = read_outside(graph, units);
  std::vector<Node> nodes;
  for (const std::size_t unit : order_units(graph, units)) {
    const auto& members = units.members(unit);
    nodes.push_back(members.size() == 1
                        ? graph.nodes[members[0]]
                        : GroupWriter(graph, members).write(fused, wanted));
  }
  graph.nodes = std::move(nodes);
  for (Value& value : graph.values) value.producer = NodeId();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId output : graph.nodes[i].outputs) {
      graph.values[output.pos()].producer = NodeId(i);
    }
  }
  return graph;
}

}  // namespace plimsoll::graph
