// Casts join what stands around them, and sums write f32 where a cast asks.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/autodiff.h"
#include "graph/passes.h"
#include "ops/convolution/convolution.h"
#include "ops/elementwise/elementwise.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/movement.h"
#include "ops/run_op.h"
#include "ops/standard_ops.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Builder;
using graph::Graph;
using graph::Node;
using graph::ValueId;

constexpr std::int64_t kBatch = 3;

std::vector<RefTensor> feed(const Graph& graph) {
  std::vector<RefTensor> inputs;
  double next = -0.9;
  for (const ValueId id : graph.inputs) {
    RefTensor tensor{graph.type(id).at(kBatch), {}};
    for (std::int64_t i = 0; i < tensor.type.shape.elements(); ++i) {
      tensor.values.push_back(next);
      next = next > 0.8 ? -0.95 : next + 0.17;
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

// Optimised, after checking that outputs differ by roundings to bf16 alone.
Graph optimized(Builder&& builder) {
  const auto before = std::move(builder).finish();
  EXPECT_TRUE(before.ok()) << before.error().message;
  const Graph after = graph::optimize(*before, standard_ops());
  ComputeThreads threads(1);
  const auto plain = run_graph(*before, kBatch, feed(*before), threads);
  const auto made = run_graph(after, kBatch, feed(after), threads);
  EXPECT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_TRUE(made.ok()) << made.error().message;
  if (!plain.ok() || !made.ok()) return after;
  for (std::size_t i = 0; i < before->outputs.size(); ++i) {
    const RefTensor& want = (*plain)[before->outputs[i].pos()];
    const RefTensor& got = (*made)[after.outputs[i].pos()];
    EXPECT_EQ(want.type, got.type);
    EXPECT_EQ(want.values.size(), got.values.size());
    for (std::size_t j = 0; j < want.values.size(); ++j) {
      EXPECT_NEAR(want.values[j], got.values[j],
                  0x1p-6 * (1 + std::abs(want.values[j])));
    }
  }
  return after;
}

TEST(MixedDtypes, CastsJoinAChainOfBothTypes) {
  Builder g;
  const ValueId x = g.input("x", {DType::bf16, {Dim::batch(), 70}});
  const ValueId y = g.input("y", {DType::f32, {Dim::batch(), 70}});
  const ValueId sum = add(g, cast(g, square(g, x), DType::f32), y);
  g.output(sum);
  g.output(negate(g, cast(g, sum, DType::f16)));
  const Graph graph = optimized(std::move(g));
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].op, &fused_op());
  EXPECT_EQ(graph.type(graph.outputs[0]).dtype, DType::f32);
  EXPECT_EQ(graph.type(graph.outputs[1]).dtype, DType::f16);
}

TEST(MixedDtypes, F64AndWholeNumbersStayApart) {
  Builder g;
  const ValueId x = g.input("x", {DType::f64, {Dim::batch(), 7}});
  const ValueId n = g.input("n", {DType::i32, {Dim::batch(), 7}});
  g.output(square(g, cast(g, square(g, x), DType::f32)));
  g.output(negate(g, cast(g, n, DType::f32)));
  const Graph graph = optimized(std::move(g));
  EXPECT_EQ(graph.nodes.size(), 5u) << graph.to_string();
}

const Node& node_of(const Graph& graph, std::string_view op) {
  for (const Node& node : graph.nodes) {
    if (node.op->name == op) return node;
  }
  ADD_FAILURE() << "no " << op << " in\n" << graph.to_string();
  return graph.nodes.front();
}

// dW of a layer, as the update of an f32 master wants it, and its bias's.
TEST(MixedDtypes, SumsThatAreCastToF32AreNotRoundedBefore) {
  Builder g;
  const ValueId x = g.input("x", {DType::bf16, {Dim::batch(), 40}});
  const ValueId dy = g.input("dy", {DType::bf16, {Dim::batch(), 30}});
  g.output(cast(g, matmul(g, x, dy, true, false), DType::f32));
  g.output(cast(g, sum_to(g, dy, {DType::bf16, {30}}), DType::f32));
  const Graph graph = optimized(std::move(g));
  EXPECT_EQ(node_of(graph, "matmul").attrs.get<std::string>("out"), "f32");
  EXPECT_EQ(node_of(graph, "reduce_sum").attrs.get<std::string>("out"), "f32");
  for (const Node& node : graph.nodes) EXPECT_NE(node.op->name, "cast");
}

TEST(MixedDtypes, AConvolutionsWeightGradientIsNotRoundedBefore) {
  Builder g;
  const ValueId x = g.input("x", {DType::f16, {Dim::batch(), 6, 6, 4}});
  const ValueId dy = g.input("dy", {DType::f16, {Dim::batch(), 4, 4, 8}});
  const ValueId w = g.input("w", {DType::f32, {8, 3, 3, 4}});
  const ValueId y = conv2d(g, x, cast(g, w, DType::f16), {});
  const auto made =
      graph::add_gradients(g, y, dy, std::vector{w}, standard_ops());
  ASSERT_TRUE(made) << made.error().message;
  g.output((*made)[0]);
  const Graph graph = optimized(std::move(g));
  const Node& sum = node_of(graph, "conv2d_weight_grad");
  EXPECT_EQ(sum.attrs.get<std::string>("out"), "f32");
  EXPECT_EQ(graph.type(graph.outputs[0]).dtype, DType::f32);
  EXPECT_EQ(graph.outputs[0], sum.outputs[0]) << graph.to_string();
}

// The last layer before a loss in f32 adds the master of its bias.
TEST(MixedDtypes, AProductInF32TakesTheBiasInF32) {
  Builder g;
  const ValueId x = g.input("x", {DType::bf16, {Dim::batch(), 40}});
  const ValueId w = g.input("w", {DType::bf16, {40, 30}});
  const ValueId bias = g.input("bias", {DType::f32, {30}});
  const ValueId y = add(g, matmul(g, x, w), cast(g, bias, DType::bf16));
  g.output(cast(g, y, DType::f32));
  const Graph graph = optimized(std::move(g));
  ASSERT_EQ(graph.nodes.size(), 1u) << graph.to_string();
  EXPECT_EQ(graph.nodes[0].inputs.at(2), bias);
}

TEST(MixedDtypes, ASumThatSomebodyElseReadsStaysAsItIs) {
  Builder g;
  const ValueId x = g.input("x", {DType::bf16, {Dim::batch(), 40}});
  const ValueId w = g.input("w", {DType::bf16, {40, 30}});
  const ValueId y = matmul(g, x, w);
  g.output(cast(g, y, DType::f32));
  g.output(y);
  const Graph graph = optimized(std::move(g));
  EXPECT_FALSE(node_of(graph, "matmul").attrs.has("out"));
}

}  // namespace
}  // namespace plimsoll::ops::testing
