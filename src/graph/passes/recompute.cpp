#include "graph/passes/recompute.h"

#include <algorithm>

#include "graph/passes/rewrite.h"
#include "graph/sizes.h"

namespace plimsoll::graph {
namespace {

// A value that backward reads, and the one or two nodes that would make it
// again from what is there anyway.
struct Chain {
  ValueId value;
  std::vector<std::size_t> nodes;  // in order
  std::int64_t bytes = 0;
  double seconds = 0;
};

class Chooser {
 public:
  Chooser(const Graph& graph, std::int64_t batch, const KernelCatalog& catalog)
      : graph_(graph),
        batch_(batch),
        catalog_(catalog),
        read_forward_(graph.values.size(), false),
        read_backward_(graph.values.size(), false),
        fixed_(graph.values.size(), false),
        parameter_(graph.values.size(), false) {
    for (const State& state : graph.states) {
      parameter_[state.value.pos()] = state.role == Role::parameter;
    }
    for (const Node& node : graph.nodes) {
      for (const ValueId input : node.inputs) {
        const ValueId root = graph.root_of(input);
        (node.phase == Phase::forward ? read_forward_
                                      : read_backward_)[root.pos()] = true;
      }
    }
    for (const ValueId output : graph.outputs) fixed_[root(output)] = true;
    for (const Assign& assign : graph.assigns)
      fixed_[root(assign.value)] = true;
  }

  // Most bytes a second first, as far as the limits go.
  std::vector<Chain> choose(const RecomputeLimits& limits) {
    std::vector<Chain> chains;
    double all = 0;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      kernels_.push_back(kernel_of(graph_.nodes[i]));
      all += kernels_.back().seconds;
      auto chain = chain_to(i);
      if (chain.bytes >= limits.least_bytes) chains.push_back(std::move(chain));
    }
    std::stable_sort(chains.begin(), chains.end(),
                     [](const Chain& a, const Chain& b) {
                       return static_cast<double>(a.bytes) * b.seconds >
                              static_cast<double>(b.bytes) * a.seconds;
                     });
    double left = limits.share_of_seconds * all;
    double left_for_parameters = limits.share_for_parameters * all;
    std::vector<Chain> chosen;
    for (Chain& chain : chains) {
      double& share =
          is_of_parameters(chain) && chain.seconds <= left_for_parameters
              ? left_for_parameters
              : left;
      // What others are made from stays, and is not made from what goes.
      if (chain.seconds > share || fixed_[chain.value.pos()] ||
          !has_all(chain)) {
        continue;
      }
      share -= chain.seconds;
      gone_.push_back(chain.value);
      for (const std::size_t node : chain.nodes) {
        for (const ValueId input : graph_.nodes[node].inputs) {
          fixed_[root(input)] = true;
        }
      }
      chosen.push_back(std::move(chain));
    }
    return chosen;
  }

 private:
  std::size_t root(ValueId value) const { return graph_.root_of(value).pos(); }

  KernelCandidate kernel_of(const Node& node) const {
    if (node.op->is_view || node.place != Place::home) return {};
    TypeList inputs;
    TypeList outputs;
    for (const ValueId id : node.inputs) {
      inputs.push_back(graph_.type(id).at(batch_));
    }
    for (const ValueId id : node.outputs) {
      outputs.push_back(graph_.type(id).at(batch_));
    }
    const Attrs attrs = node.attrs.at(batch_);
    auto found = catalog_.candidates({node.op, inputs, outputs, &attrs});
    if (!found) return {};  // lowering says what is missing
    return std::move(found->front());
  }

  bool can_repeat(const Node& node) const {
    return node.op->recomputable && !node.op->is_view &&
           node.phase == Phase::forward && node.place == Place::home;
  }

  // There when backward runs: kept for another reader, or never freed.
  bool is_there(ValueId value) const {
    const ValueId at = graph_.root_of(value);
    if (graph_.value(at).kind != ValueKind::computed) {
      return graph_.place_of(at) == Place::home;
    }
    return read_backward_[at.pos()] && graph_.place_of(at) == Place::home &&
           std::find(gone_.begin(), gone_.end(), at) == gone_.end();
  }

  bool has_all(const Chain& chain) const {
    const Node& last = graph_.nodes[chain.nodes.back()];
    const Node& first = graph_.nodes[chain.nodes.front()];
    const auto between = [&](ValueId input) {
      return chain.nodes.size() > 1 &&
             std::find(first.outputs.begin(), first.outputs.end(), input) !=
                 first.outputs.end();
    };
    const auto there = [&](ValueId input) {
      return is_there(input) || between(input);
    };
    return std::all_of(first.inputs.begin(), first.inputs.end(),
                       [&](ValueId input) { return is_there(input); }) &&
           std::all_of(last.inputs.begin(), last.inputs.end(), there);
  }

  bool is_of_parameters(const Chain& chain) const {
    const auto& inputs = graph_.nodes[chain.nodes.front()].inputs;
    return chain.nodes.size() == 1 && !inputs.empty() &&
           std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
             return parameter_[graph_.root_of(input).pos()];
           });
  }

  // What works in much memory of its own (padded copies of few channels) takes
  // longer than its operands tell.
  static bool is_light(const KernelCandidate& kernel, std::int64_t bytes) {
    return kernel.scratch_bytes <= bytes / 4;
  }

  // Whatever else it makes is next to nothing (statistics of a row), and stays.
  bool is_one_value(const Node& node) const {
    std::int64_t others = 0;
    for (std::size_t i = 1; i < node.outputs.size(); ++i) {
      others += graph_.type(node.outputs[i]).at(batch_).bytes();
    }
    return others <= graph_.type(node.outputs[0]).at(batch_).bytes() / 16;
  }

  // No bytes: there is none.
  Chain chain_to(std::size_t at) const {
    const Node& node = graph_.nodes[at];
    if (!can_repeat(node) || !is_one_value(node)) return {};
    const ValueId value = node.outputs[0];
    if (!read_backward_[value.pos()] || !read_forward_[value.pos()] ||
        fixed_[value.pos()]) {
      return {};
    }
    Chain chain{value,
                {at},
                graph_.type(value).at(batch_).bytes(),
                kernels_[at].seconds};
    if (!is_light(kernels_[at], chain.bytes)) return {};
    if (has_all(chain)) return chain;
    for (const ValueId input : node.inputs) {
      const NodeId producer = graph_.value(input).producer;
      if (is_there(input) || !producer.valid()) continue;
      chain.nodes = {producer.pos(), at};
      const KernelCandidate& kernel = kernels_[producer.pos()];
      chain.seconds = kernels_[at].seconds + kernel.seconds;
      if (can_repeat(graph_.node(producer)) && is_light(kernel, chain.bytes) &&
          has_all(chain)) {
        return chain;
      }
    }
    return {};
  }

  const Graph& graph_;
  const std::int64_t batch_;
  const KernelCatalog& catalog_;
  std::vector<bool> read_forward_;        // by root value
  std::vector<bool> read_backward_;       // likewise
  std::vector<bool> fixed_;               // likewise: stays where it is
  std::vector<bool> parameter_;           // likewise
  std::vector<KernelCandidate> kernels_;  // by node
  std::vector<ValueId> gone_;             // chosen ones
};

using Copies = std::vector<std::pair<ValueId, ValueId>>;

ValueId copy_of(ValueId value, const Copies& copies) {
  const auto found =
      std::find_if(copies.begin(), copies.end(),
                   [&](const auto& copy) { return copy.first == value; });
  return found == copies.end() ? value : found->second;
}

// A copy of the node in backward, with values of its own for what it makes.
void repeat(Graph& graph, const Node& node, Copies& copies) {
  Node copy = node;
  copy.phase = Phase::backward;
  copy.repeats = !node.op->is_view;
  for (ValueId& input : copy.inputs) input = copy_of(input, copies);
  for (ValueId& output : copy.outputs) {
    const ValueId from = output;
    output = ValueId(graph.values.size());
    graph.values.push_back(graph.values[from.pos()]);
    copies.emplace_back(from, output);
  }
  graph.nodes.push_back(std::move(copy));
}

// What backward reads in the place of `value`, a chain's or a view of one:
// views are made again too, each once.
ValueId repeated_view(Graph& result, const Graph& graph, ValueId value,
                      Copies& copies) {
  if (copy_of(value, copies) == value) {
    const Node& view = graph.node(graph.value(value).producer);
    repeated_view(result, graph, view.inputs[0], copies);
    repeat(result, view, copies);
  }
  return copy_of(value, copies);
}

}  // namespace

Graph recompute(const Graph& graph, std::int64_t batch,
                const KernelCatalog& catalog, const RecomputeLimits& limits) {
  const bool trains = std::any_of(
      graph.nodes.begin(), graph.nodes.end(),
      [](const Node& node) { return node.phase == Phase::backward; });
  // Lowering says which value is too large.
  if (!trains || !check_sizes(graph, batch)) return graph;
  std::vector<Chain> chains = Chooser(graph, batch, catalog).choose(limits);
  Graph result = graph;
  result.nodes.clear();
  std::vector<Copies> copies(chains.size());
  for (Node node : graph.nodes) {
    if (node.phase != Phase::forward) {
      for (ValueId& input : node.inputs) {
        const auto chain =
            std::find_if(chains.begin(), chains.end(), [&](const Chain& one) {
              return one.value == graph.root_of(input);
            });
        if (chain == chains.end()) continue;
        Copies& made = copies[static_cast<std::size_t>(chain - chains.begin())];
        if (made.empty()) {
          for (const std::size_t at : chain->nodes) {
            repeat(result, graph.nodes[at], made);
          }
        }
        input = repeated_view(result, graph, input, made);
      }
    }
    result.nodes.push_back(std::move(node));
  }
  keep_nodes(result, std::vector<bool>(result.nodes.size(), true));
  return result;
}

}  // namespace plimsoll::graph
