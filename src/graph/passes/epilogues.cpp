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
      if (code == ElementwiseCode::add) {
        fold_bias(i);
        fold_scatter(i);
      }
      if (code == ElementwiseCode::relu) fold_relu(i);
      if (graph_.nodes[i].op->name == "cast") fold_cast(i);
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
    if (node.op->name != "matmul" && node.op->name != "conv2d") return nullptr;
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

  // A sum with rows added to zeros: they are added to the other side.
  void fold_scatter(std::size_t at) {
    const Node& node = graph_.nodes[at];
    if (node.op->elementwise != ElementwiseCode::add) return;  // has a bias now
    for (std::size_t side = 0; side < 2; ++side) {
      const ValueId value = node.inputs[side];
      const ValueId base = node.inputs[1 - side];
      const NodeId producer = graph_.value(value).producer;
      if (!producer.valid() || uses_[value.pos()] != 1) continue;
      const Node& scatter = graph_.node(producer);
      if (scatter.op->name != "scatter_add" || scatter.inputs.size() != 2 ||
          scatter.place != node.place ||
          graph_.type(base) != graph_.type(value)) {
        continue;
      }
      Node folded = scatter;
      folded.inputs.push_back(base);
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

  bool is_half(ValueId value) const {
    const DType dtype = graph_.type(value).dtype;
    return dtype == DType::bf16 || dtype == DType::f16;
  }

  // Ops that can write f32 whatever they read: their sums are f32 anyway.
  static bool writes_f32(const Node& node) {
    const std::string_view op = node.op->name;
    return (op == "matmul" || op == "reduce_sum" ||
            op == "conv2d_weight_grad") &&
           !node.attrs.has("out");
  }

  bool was_f32(const Node& node) const {
    return node.op->name == "cast" &&
           graph_.type(node.inputs[0]).dtype == DType::f32;
  }

  // A cast to f32 of a sum that nobody else reads, perhaps under another
  // shape: the sum is written in f32 at once.
  void fold_cast(std::size_t at) {
    const ValueId result = graph_.nodes[at].outputs[0];
    ValueId value = graph_.nodes[at].inputs[0];
    if (!is_half(value) || graph_.type(result).dtype != DType::f32) return;
    std::vector<ValueId> wide;
    NodeId producer;
    for (;;) {
      producer = graph_.value(value).producer;
      if (!producer.valid() || uses_[value.pos()] != 1) return;
      wide.push_back(value);
      if (!graph_.node(producer).op->is_view) break;
      value = graph_.node(producer).inputs[0];
    }
    Node& sum = graph_.nodes[producer.pos()];
    if (was_f32(sum) && wide.size() == 1) {
      // A rounding that nobody else sees.
      const ValueId exact = sum.inputs[0];
      uses_[exact.pos()] += uses_[result.pos()];
      replace_uses(graph_, result, exact);
      keep_[at] = false;
      return;
    }
    if (!writes_f32(sum)) return;
    if (sum.inputs.size() > 2) {  // a bias is of the output's type
      const NodeId made = graph_.value(sum.inputs[2]).producer;
      if (!made.valid() || graph_.node(made).op->name != "cast") return;
      const ValueId master = graph_.node(made).inputs[0];
      if (graph_.type(master).dtype != DType::f32) return;
      --uses_[sum.inputs[2].pos()];
      ++uses_[master.pos()];
      sum.inputs[2] = master;
    }
    sum.attrs.set("out", std::string("f32"));
    for (const ValueId changed : wide) {
      graph_.values[changed.pos()].type.dtype = DType::f32;
    }
    uses_[wide[0].pos()] = uses_[result.pos()];
    replace_uses(graph_, result, wide[0]);
    keep_[at] = false;
  }

  Graph graph_;
  std::vector<int> uses_;
  std::vector<bool> keep_;
};

}  // namespace

Graph fold_epilogues(Graph graph) { return Folder(std::move(graph)).run(); }

}  // namespace plimsoll::graph
