#include "graph/passes.h"
#include "graph/passes/rewrite.h"

namespace plimsoll::graph {
namespace {

// Reads and rewrites one graph; nodes that were absorbed are marked.
class Folder {
 public:
  explicit Folder(Graph graph)
      : graph_(std::move(graph)),
        uses_(count_uses(graph_)),
        keep_(graph_.nodes.size(), true) {}

  Graph run() && {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto code = graph_.nodes[i].op->elementwise;
      if (code == ElementwiseCode::add) fold_bias(i);
      if (code == ElementwiseCode::relu) fold_relu(i);
    }
    keep_nodes(graph_, keep_);
    return std::move(graph_);
  }

 private:
  // The product that makes `value`, if nobody else reads it and nothing has
  // been applied to it yet.
  const Node* product_of(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    if (!producer.valid() || uses_[value.pos()] != 1) return nullptr;
    const Node& node = graph_.node(producer);
    if (node.op->name != "matmul") return nullptr;
    return node.attrs.get<std::string>("activation").empty() ? &node : nullptr;
  }

  // The product takes the place of the node that read it: whatever it now
  // reads has been computed there.
  void absorb(std::size_t at, ValueId product_value, Node folded) {
    Node& node = graph_.nodes[at];
    keep_[graph_.value(product_value).producer.pos()] = false;
    folded.outputs = node.outputs;
    node = std::move(folded);
  }

  void fold_bias(std::size_t at) {
    const Node& node = graph_.nodes[at];
    for (std::size_t side = 0; side < 2; ++side) {
      const ValueId value = node.inputs[side];
      const ValueId bias = node.inputs[1 - side];
      const Node* product = product_of(value);
      if (!product || product->inputs.size() != 2 || value == bias) continue;
      const TensorType& type = graph_.type(value);
      const TensorType row{type.dtype,
                           Shape{type.shape[type.shape.rank() - 1]}};
      if (graph_.type(bias) != row || graph_.type(node.outputs[0]) != type) {
        continue;
      }
      Node folded = *product;
      folded.inputs.push_back(bias);
      return absorb(at, value, std::move(folded));
    }
  }

  void fold_relu(std::size_t at) {
    const ValueId value = graph_.nodes[at].inputs[0];
    const Node* product = product_of(value);
    if (!product) return;
    Node folded = *product;
    folded.attrs.set("activation", std::string("relu"));
    absorb(at, value, std::move(folded));
  }

  Graph graph_;
  std::vector<int> uses_;
  std::vector<bool> keep_;
};

}  // namespace

Graph fold_epilogues(const Graph& graph) { return Folder(graph).run(); }

}  // namespace plimsoll::graph
