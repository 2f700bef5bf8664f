#include <algorithm>
#include <map>

#include "graph/passes.h"

namespace plimsoll::graph {
namespace {

class Transfers {
 public:
  Transfers(const Graph& graph, const OpDef& copy)
      : from_(graph), copy_(copy), to_(graph) {
    to_.nodes.clear();
  }

  Graph run() && {
    for (const Node& node : from_.nodes) {
      Node placed = node;
      if (!node.op->is_view) {
        for (ValueId& input : placed.inputs) input = at(input, node);
      }
      append(std::move(placed));
    }
    for (Assign& assign : to_.assigns) {
      const Place place = from_.place_of(assign.state);
      assign.value = at(assign.value, {&copy_,
                                       from_.value(assign.state).name,
                                       {},
                                       {},
                                       {},
                                       Phase::update,
                                       place});
    }
    for (ValueId& output : to_.outputs) {
      output = at(output, {&copy_, from_.value(output).name, {}, {}, {}});
    }
    return std::move(to_);
  }

 private:
  // The value where `reader` runs. It arrives once for all who read it there.
  ValueId at(ValueId value, const Node& reader) {
    const ValueKind kind = from_.value(from_.root_of(value)).kind;
    if (kind == ValueKind::input || from_.place_of(value) == reader.place) {
      return value;
    }
    const auto [known, is_new] =
        there_.try_emplace({value, reader.place}, ValueId(to_.values.size()));
    if (!is_new) return known->second;
    to_.values.push_back({from_.value(value).name + "/transfer",
                          from_.type(value), ValueKind::computed, NodeId()});
    append({&copy_,
            reader.name,
            {value},
            {known->second},
            {},
            reader.phase,
            reader.place});
    return known->second;
  }

  void append(Node node) {
    for (const ValueId output : node.outputs) {
      to_.values[output.pos()].producer = NodeId(to_.nodes.size());
    }
    to_.nodes.push_back(std::move(node));
  }

  const Graph& from_;
  const OpDef& copy_;
  Graph to_;
  std::map<std::pair<ValueId, Place>, ValueId> there_;
};

}  // namespace

Graph add_transfers(Graph graph, const OpDef& copy) {
  const auto away = [](const auto& placed) {
    return placed.place != Place::home;
  };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), away) &&
      std::none_of(graph.states.begin(), graph.states.end(), away)) {
    return graph;
  }
  return Transfers(graph, copy).run();
}

}  // namespace plimsoll::graph
