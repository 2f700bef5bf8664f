#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>

#include "graph/passes.h"

namespace plimsoll::graph {
namespace {

// Of one example: less is not worth an instruction.
constexpr std::int64_t kWorthBytes = 64 * 1024;
// Nodes between the last use in forward and the first behind it: less frees
// nothing that matters before it is wanted again.
constexpr int kFarApart = 16;

bool in_forward(const Node& node) { return node.phase == Phase::forward; }

class Remaker {
 public:
  Remaker(Graph graph, const OpDef& fused)
      : graph_(std::move(graph)),
        fused_(fused),
        readers_(graph_.values.size()),
        kept_(graph_.values.size(), false) {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const ValueId input : graph_.nodes[i].inputs) {
        readers_[graph_.root_of(input).pos()].push_back(static_cast<int>(i));
      }
    }
    for (const ValueId output : graph_.outputs) keep(output);
    for (const Assign& assign : graph_.assigns) keep(assign.value);
  }

  Graph run() && {
    const std::size_t count = graph_.nodes.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (can_be_remade(graph_.nodes[i])) consider(graph_.nodes[i]);
    }
    insert();
    return std::move(graph_);
  }

 private:
  struct Remade {
    int before = 0;  // the node that reads it first
    Node node;
  };

  void keep(ValueId value) { kept_[graph_.root_of(value).pos()] = true; }
  const Node& at(int position) const {
    return graph_.nodes[static_cast<std::size_t>(position)];
  }
  const std::vector<int>& readers_of(ValueId value) const {
    return readers_[graph_.root_of(value).pos()];
  }

  bool can_be_remade(const Node& node) const {
    return in_forward(node) && node.op->recomputable &&
           (node.op->elementwise || node.op == &fused_) &&
           node.outputs.size() == 1 && !kept_[node.outputs[0].pos()] &&
           graph_.type(node.outputs[0]).at(1).bytes() >= kWorthBytes;
  }

  void consider(const Node& node) {
    const ValueId value = node.outputs[0];
    int last = -1;
    int first = -1;
    for (const int reader : readers_of(value)) {
      if (in_forward(at(reader))) {
        last = reader;
      } else if (first < 0) {
        first = reader;
      }
    }
    if (last < 0 || first - last < kFarApart) return;
    if (is_read_through_a_view(value)) return;
    const bool at_hand =
        std::all_of(node.inputs.begin(), node.inputs.end(),
                    [&](ValueId input) { return is_kept(input, first); });
    if (at_hand) remake(node, first);
  }

  // By backward, and the view is forward's.
  bool is_read_through_a_view(ValueId value) const {
    return std::any_of(
        graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& node) {
          return !in_forward(node) &&
                 std::any_of(node.inputs.begin(), node.inputs.end(),
                             [&](ValueId input) {
                               return input != value && made_forward(input) &&
                                      graph_.root_of(input) == value;
                             });
        });
  }
  bool made_forward(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    return producer.valid() && in_forward(graph_.node(producer));
  }

  // Whether it is there at `position` in any case.
  bool is_kept(ValueId value, int position) const {
    const ValueId root = graph_.root_of(value);
    if (graph_.value(root).kind != ValueKind::computed) return true;
    const auto& readers = readers_[root.pos()];
    return !remade_.contains(root.pos()) && !readers.empty() &&
           readers.back() > position && !in_forward(at(readers.back()));
  }

  void remake(const Node& node, int first) {
    const ValueId old = node.outputs[0];
    const ValueId again(graph_.values.size());
    graph_.values.push_back(graph_.value(old));
    Node copy = node;
    copy.phase = Phase::backward;
    copy.outputs = {again};
    for (Node& reader : graph_.nodes) {
      if (in_forward(reader)) continue;
      std::replace(reader.inputs.begin(), reader.inputs.end(), old, again);
    }
    remade_.insert(old.pos());
    made_.push_back({first, std::move(copy)});
  }

  void insert() {
    std::stable_sort(
        made_.begin(), made_.end(),
        [](const Remade& a, const Remade& b) { return a.before < b.before; });
    std::vector<Node> nodes;
    auto next = made_.begin();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (; next != made_.end() && next->before == static_cast<int>(i);
           ++next) {
        nodes.push_back(std::move(next->node));
      }
      nodes.push_back(std::move(graph_.nodes[i]));
    }
    graph_.nodes = std::move(nodes);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const ValueId output : graph_.nodes[i].outputs) {
        graph_.values[output.pos()].producer = NodeId(i);
      }
    }
  }

  Graph graph_;
  const OpDef& fused_;
  std::vector<std::vector<int>> readers_;  // by root value, in order
  std::vector<bool> kept_;                 // by value: lives to the end
  std::set<std::size_t> remade_;           // values
  std::vector<Remade> made_;
};

}  // namespace

std::int64_t count_remade(const Graph& graph) {
  std::set<std::string> known;
  std::int64_t count = 0;
  for (const Node& node : graph.nodes) {
    if (node.op->is_view) continue;
    std::string text = std::string(node.op->name) + node.attrs.to_string();
    for (const ValueId input : node.inputs) {
      text += fmt::format(" {}", graph.root_of(input).pos());
    }
    if (!known.insert(std::move(text)).second) ++count;
  }
  return count;
}

Graph remake_in_backward(const Graph& graph, const OpDef& fused) {
  return Remaker(graph, fused).run();
}

}  // namespace plimsoll::graph
