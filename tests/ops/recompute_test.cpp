// What is made again in backward has the same bits, and nothing else changes.
#include "graph/passes/recompute.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/autodiff.h"
#include "ops/cuda_kernels.h"
#include "ops/elementwise/elementwise.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/movement.h"
#include "ops/normalization/normalization.h"
#include "ops/run_op.h"
#include "ops/standard_ops.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Builder;
using graph::Graph;
using graph::Node;
using graph::ValueId;

constexpr std::int64_t kBatch = 4;

// square(relu(batch_norm(x))) and its gradient, or of square(x).
Graph normalized(bool of_square = false) {
  Builder g;
  const ValueId x = g.input("x", {DType::f32, {Dim::batch(), 3, 3, 8}});
  const ValueId gamma = g.input("gamma", {DType::f32, {8}});
  const ValueId beta = g.input("beta", {DType::f32, {8}});
  const ValueId from = of_square ? square(g, x) : x;
  const ValueId y = relu(g, batch_norm(g, from, gamma, beta, 1e-5, false).y);
  const ValueId z = square(g, y);
  const ValueId flow = g.input("dz", g.type(z));
  const auto made =
      graph::add_gradients(g, z, flow, std::vector{x}, standard_ops());
  EXPECT_TRUE(made) << made.error().message;
  g.output((*made)[0]);
  const auto graph = std::move(g).finish();
  EXPECT_TRUE(graph) << graph.error().message;
  return *graph;
}

// square(layer_norm(x)), read as rows, and its gradient.
Graph viewed() {
  Builder g;
  const ValueId x = g.input("x", {DType::f32, {Dim::batch(), 3, 64}});
  const ValueId gamma = g.input("gamma", {DType::f32, {64}});
  const ValueId beta = g.input("beta", {DType::f32, {64}});
  const ValueId y = layer_norm(g, x, gamma, beta, 1e-5);
  const ValueId z = square(g, reshape(g, y, {Dim::batch(3), 64}));
  const ValueId flow = g.input("dz", g.type(z));
  const auto made =
      graph::add_gradients(g, z, flow, std::vector{x}, standard_ops());
  EXPECT_TRUE(made) << made.error().message;
  g.output((*made)[0]);
  const auto graph = std::move(g).finish();
  EXPECT_TRUE(graph) << graph.error().message;
  return *graph;
}

// A device without rates: nothing costs time, so that bytes alone decide.
Graph recomputed(const Graph& graph, std::int64_t least_bytes) {
  return graph::recompute(graph, kBatch, CudaCatalog({}, {}),
                          {0.01, least_bytes});
}

std::vector<RefTensor> feed(const Graph& graph) {
  std::vector<RefTensor> inputs;
  double next = -0.9;
  for (const ValueId id : graph.inputs) {
    RefTensor tensor{graph.type(id).at(kBatch), {}};
    for (std::int64_t i = 0; i < tensor.type.shape.elements(); ++i) {
      tensor.values.push_back(static_cast<float>(next));
      next = next > 0.8 ? -0.95 : next + 0.17;
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

std::vector<std::string_view> repeated(const Graph& graph) {
  std::vector<std::string_view> names;
  for (const Node& node : graph.nodes) {
    if (!node.repeats) continue;
    EXPECT_EQ(node.phase, graph::Phase::backward);
    names.push_back(node.op->name);
  }
  return names;
}

void expect_same_bits(const Graph& before, const Graph& after) {
  ComputeThreads threads(1);
  const auto kept = run_graph(before, kBatch, feed(before), threads);
  const auto made = run_graph(after, kBatch, feed(after), threads);
  ASSERT_TRUE(kept.ok() && made.ok());
  EXPECT_EQ((*kept)[before.outputs[0].pos()].values,
            (*made)[after.outputs[0].pos()].values);
}

TEST(Recompute, ReluOfANormalizationIsMadeAgainWithTheSameBits) {
  const Graph before = normalized();
  const Graph after = recomputed(before, 1);
  EXPECT_EQ(repeated(after),
            (std::vector<std::string_view>{"batch_norm", "relu"}))
      << after.to_string();
  // Nobody in backward reads what forward made of it.
  const auto relu_of = [&](bool repeats) {
    for (const Node& node : after.nodes) {
      if (node.op->name == "relu" && node.repeats == repeats) {
        return node.outputs[0];
      }
    }
    return ValueId();
  };
  for (const Node& node : after.nodes) {
    const bool reads =
        std::count(node.inputs.begin(), node.inputs.end(), relu_of(false)) > 0;
    EXPECT_FALSE(reads && node.phase == graph::Phase::backward);
  }
  expect_same_bits(before, after);
}

// Its statistics stay, and what backward reads is a view of the copy.
TEST(Recompute, ANormalizationThatIsReadThroughAViewIsMadeAgain) {
  const Graph before = viewed();
  const Graph after = recomputed(before, 1024);
  EXPECT_EQ(repeated(after), std::vector<std::string_view>{"layer_norm"})
      << after.to_string();
  ValueId first;
  for (const Node& node : after.nodes) {
    if (node.op->name == "layer_norm" && !node.repeats) first = node.outputs[0];
    for (const ValueId input : node.inputs) {
      EXPECT_FALSE(node.phase == graph::Phase::backward &&
                   after.root_of(input) == first)
          << after.to_string();
    }
  }
  expect_same_bits(before, after);
}

// Relu would have to be made from what is not kept any more.
TEST(Recompute, NothingIsMadeFromWhatIsMadeAgain) {
  EXPECT_EQ(repeated(recomputed(normalized(true), 1)),
            std::vector<std::string_view>{"square"});
}

// gelu(x w) v in bf16, with parameters in f32, and all gradients.
Graph mixed() {
  Builder g;
  const ValueId x = g.input("x", {DType::bf16, {Dim::batch(), 64}});
  const auto parameter = [&](const char* name) {
    return g.state(name, graph::Role::parameter, {DType::f32, {64, 64}});
  };
  const ValueId w = parameter("w");
  const ValueId v = parameter("v");
  const ValueId hidden = gelu(g, matmul(g, x, cast(g, w, DType::bf16)));
  const ValueId z = matmul(g, hidden, cast(g, v, DType::bf16));
  const ValueId flow = g.input("dz", g.type(z));
  const auto made =
      graph::add_gradients(g, z, flow, std::vector{x, w, v}, standard_ops());
  EXPECT_TRUE(made) << made.error().message;
  for (const ValueId gradient : *made) g.output(gradient);
  const auto graph = std::move(g).finish();
  EXPECT_TRUE(graph) << graph.error().message;
  return *graph;
}

// Every kernel takes a second.
class SecondEach final : public graph::KernelCatalog {
 public:
  Result<std::vector<graph::KernelCandidate>> candidates(
      const graph::KernelQuery& query) const override {
    PLIMSOLL_ASSIGN(auto found, CudaCatalog({}, {}).candidates(query));
    for (graph::KernelCandidate& kernel : found) kernel.seconds = 1;
    return found;
  }
};

TEST(Recompute, CastsOfParametersHaveAShareOfTheirOwn) {
  const Graph graph = mixed();
  const double second = 1.001 / static_cast<double>(graph.nodes.size());
  const auto made_again = [&](double seconds, double for_parameters) {
    auto names = repeated(
        graph::recompute(graph, 64, SecondEach(),
                         {seconds * second, 1, for_parameters * second}));
    std::sort(names.begin(), names.end());
    return names;
  };
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(made_again(1, 2), (Names{"cast", "cast", "gelu"}));
  EXPECT_EQ(made_again(0, 5), (Names{"cast", "cast"}));
  EXPECT_EQ(made_again(0, 1), Names{"cast"});
  EXPECT_EQ(made_again(3, 0), (Names{"cast", "cast", "gelu"}));
  EXPECT_EQ(made_again(1, 0).size(), 1u);
}

TEST(Recompute, SmallValuesAndGraphsWithoutBackwardStayAsTheyAre) {
  const Graph graph = normalized();
  EXPECT_EQ(recomputed(graph, 1 << 20).to_string(), graph.to_string());
  Builder g;
  g.output(relu(g, g.input("x", {DType::f32, {Dim::batch(), 8}})));
  const auto forward = std::move(g).finish();
  ASSERT_TRUE(forward);
  EXPECT_EQ(recomputed(*forward, 1).to_string(), forward->to_string());
}

}  // namespace
}  // namespace plimsoll::ops::testing
