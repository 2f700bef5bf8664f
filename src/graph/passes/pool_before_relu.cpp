#include <algorithm>

#include "graph/passes.h"
#include "graph/passes/rewrite.h"

namespace plimsoll::graph {
namespace {

// The largest of relu's results is relu of the largest: behind the pooling
// there is less to do, and backward needs the pooled images alone.
class Swapper {
 public:
  explicit Swapper(Graph graph)
      : graph_(std::move(graph)), uses_(count_uses(graph_)) {}

  Graph run() && {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].op->name == "max_pool2d") swap_at(i);
    }
    return std::move(graph_);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  bool is(std::size_t node, ElementwiseCode code) const {
    return graph_.nodes[node].op->elementwise == code;
  }
  // The reader of `value` behind `node` that `wanted` accepts.
  template <class Wanted>
  std::size_t reader(ValueId value, std::size_t node,
                     const Wanted& wanted) const {
    while (++node < graph_.nodes.size()) {
      const auto& inputs = graph_.nodes[node].inputs;
      if (wanted(node) &&
          std::find(inputs.begin(), inputs.end(), value) != inputs.end()) {
        return node;
      }
    }
    return kNone;
  }

  void swap_at(std::size_t pool) {
    const ValueId y = graph_.nodes[pool].inputs[0];
    const NodeId relu = graph_.value(y).producer;
    if (!relu.valid() || !is(relu.pos(), ElementwiseCode::relu)) return;
    if (uses_[y.pos()] == 1) return swap_forward(relu.pos(), pool);
    const std::size_t pool_grad =
        reader(graph_.nodes[pool].outputs[1], pool, [&](std::size_t node) {
          return graph_.nodes[node].op->name == "max_pool2d_grad";
        });
    if (uses_[y.pos()] != 2 || pool_grad == kNone) return;
    const ValueId flow = graph_.nodes[pool_grad].outputs[0];
    const std::size_t relu_grad =
        reader(flow, pool_grad, [&](std::size_t node) {
          return is(node, ElementwiseCode::relu_grad) &&
                 graph_.nodes[node].inputs[1] == y;
        });
    if (relu_grad == kNone || uses_[flow.pos()] != 1) return;
    swap_forward(relu.pos(), pool);
    swap_backward(pool_grad, relu_grad, graph_.nodes[pool].outputs[0]);
  }

  // Each does its work at the other's place: x -> y -> pooled stays the chain,
  // with y pooled already.
  void swap_forward(std::size_t relu, std::size_t pool) {
    Node& first = graph_.nodes[relu];
    Node& second = graph_.nodes[pool];
    const ValueId x = first.inputs[0];
    const ValueId y = first.outputs[0];
    const ValueId pooled = second.outputs[0];
    second.inputs[0] = x;
    second.outputs[0] = y;
    first.inputs[0] = y;
    first.outputs[0] = pooled;
    graph_.values[y.pos()].type = graph_.type(pooled);
    exchange(relu, pool);
    uses_[y.pos()] = 1;
  }

  void swap_backward(std::size_t pool_grad, std::size_t relu_grad,
                     ValueId pooled) {
    Node& first = graph_.nodes[pool_grad];
    Node& second = graph_.nodes[relu_grad];
    const ValueId flow = first.outputs[0];
    const ValueId dy = first.inputs[0];
    const ValueId dx = second.outputs[0];
    second.inputs = {dy, pooled};
    second.outputs[0] = flow;
    first.inputs[0] = flow;
    first.outputs[0] = dx;
    graph_.values[flow.pos()].type = graph_.type(dy);
    ++uses_[pooled.pos()];
    exchange(pool_grad, relu_grad);
  }

  void exchange(std::size_t a, std::size_t b) {
    std::swap(graph_.nodes[a], graph_.nodes[b]);
    for (const std::size_t node : {a, b}) {
      for (const ValueId output : graph_.nodes[node].outputs) {
        graph_.values[output.pos()].producer = NodeId(node);
      }
    }
  }

  Graph graph_;
  std::vector<int> uses_;
};

}  // namespace

Graph pool_before_relu(Graph graph) { return Swapper(std::move(graph)).run(); }

}  // namespace plimsoll::graph
