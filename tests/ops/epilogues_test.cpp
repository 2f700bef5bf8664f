// Folding bias and relu into a product keeps values and order.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/passes.h"
#include "ops/convolution/convolution.h"
#include "ops/elementwise/elementwise.h"
#include "ops/indexing/indexing.h"
#include "ops/matmul/matmul.h"
#include "ops/run_op.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Builder;
using graph::Graph;
using graph::ValueId;

constexpr std::int64_t kBatch = 3;

struct Layer {
  Builder builder;
  ValueId x = builder.input("x", {DType::f32, {Dim::batch(), 4}});
  ValueId w = builder.input("w", {DType::f32, {4, 5}});
  ValueId bias = builder.input("bias", {DType::f32, {5}});
};

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

// Folded, after checking that every output still has its value.
Graph fold(Builder&& builder) {
  const auto before = std::move(builder).finish();
  EXPECT_TRUE(before.ok());
  const Graph after = graph::fold_epilogues(*before);
  ComputeThreads threads(1);
  const auto plain = run_graph(*before, kBatch, feed(*before), threads);
  const auto folded = run_graph(after, kBatch, feed(after), threads);
  EXPECT_TRUE(plain.ok() && folded.ok());
  for (std::size_t i = 0; i < before->outputs.size(); ++i) {
    const auto& want = (*plain)[before->outputs[i].pos()].values;
    const auto& got = (*folded)[after.outputs[i].pos()].values;
    EXPECT_EQ(want.size(), got.size());
    for (std::size_t j = 0; j < want.size(); ++j) {
      EXPECT_NEAR(want[j], got[j], 1e-6);
    }
  }
  return after;
}

TEST(Epilogues, BiasAndReluBecomePartOfTheProduct) {
  Layer layer;
  Builder& b = layer.builder;
  b.output(relu(b, add(b, matmul(b, layer.x, layer.w), layer.bias)));
  const Graph folded = fold(std::move(b));
  ASSERT_EQ(folded.nodes.size(), 1u);
  EXPECT_EQ(folded.nodes[0].inputs.size(), 3u);
  EXPECT_EQ(folded.nodes[0].attrs.get<std::string>("activation"), "relu");
}

TEST(Epilogues, BiasAndReluBecomePartOfTheConvolution) {
  Builder b;
  const ValueId x = b.input("x", {DType::f32, {Dim::batch(), 5, 6, 2}});
  const ValueId w = b.input("w", {DType::f32, {7, 3, 3, 2}});
  const ValueId bias = b.input("bias", {DType::f32, {7}});
  b.output(relu(b, add(b, conv2d(b, x, w, {}), bias)));
  const Graph folded = fold(std::move(b));
  ASSERT_EQ(folded.nodes.size(), 1u);
  EXPECT_EQ(folded.nodes[0].inputs.size(), 3u);
  EXPECT_EQ(folded.nodes[0].attrs.get<std::string>("activation"), "relu");
}

TEST(Epilogues, RowsAreAddedToTheOtherSideOfASum) {
  for (const bool first : {true, false}) {
    Builder b;
    const ValueId rows = b.input("rows", {DType::f32, {3, 4}});
    const ValueId base = b.input("base", {DType::f32, {6, 4}});
    const ValueId indices = argmax(b, rows, 1);
    const ValueId sums = scatter_add(b, rows, indices, 6);
    b.output(first ? add(b, sums, square(b, base))
                   : add(b, square(b, base), sums));
    const Graph folded = fold(std::move(b));
    ASSERT_EQ(folded.nodes.size(), 3u);
    EXPECT_EQ(folded.nodes.back().op->name, "scatter_add");
    EXPECT_EQ(folded.nodes.back().inputs.size(), 3u);
  }
}

TEST(Epilogues, RowsThatSomebodyElseReadsStayAsTheyAre) {
  Builder b;
  const ValueId rows = b.input("rows", {DType::f32, {3, 4}});
  const ValueId base = b.input("base", {DType::f32, {6, 4}});
  const ValueId sums = scatter_add(b, rows, argmax(b, rows, 1), 6);
  b.output(add(b, sums, base));
  b.output(sums);
  EXPECT_EQ(fold(std::move(b)).nodes.size(), 3u);
}

TEST(Epilogues, TheBiasMayStandFirstAndBeComputedLate) {
  Layer layer;
  Builder& b = layer.builder;
  const ValueId product = matmul(b, layer.x, layer.w);
  const ValueId late = square(b, layer.bias);
  b.output(add(b, late, product));
  const Graph folded = fold(std::move(b));
  ASSERT_EQ(folded.nodes.size(), 2u);
  EXPECT_EQ(folded.nodes[1].op->name, "matmul");
  EXPECT_EQ(folded.nodes[1].inputs.at(2), late);
}

TEST(Epilogues, AReluAloneIsFoldedToo) {
  Layer layer;
  Builder& b = layer.builder;
  b.output(relu(b, matmul(b, layer.x, layer.w)));
  EXPECT_EQ(fold(std::move(b)).nodes.size(), 1u);
}

TEST(Epilogues, AValueWithAnotherReaderIsKept) {
  Layer layer;
  Builder& b = layer.builder;
  const ValueId product = matmul(b, layer.x, layer.w);
  b.output(add(b, product, layer.bias));
  b.output(product);
  EXPECT_EQ(fold(std::move(b)).nodes.size(), 2u);

  Layer second;
  Builder& c = second.builder;
  const ValueId sum = add(c, matmul(c, second.x, second.w), second.bias);
  c.output(relu(c, sum));
  c.output(sum);
  EXPECT_EQ(fold(std::move(c)).nodes.size(), 2u);
}

TEST(Epilogues, OnlyARowOfTheOutputsWidthIsABias) {
  Layer layer;
  Builder& b = layer.builder;
  const ValueId column = b.input("column", {DType::f32, {Dim::batch(), 1}});
  b.output(add(b, matmul(b, layer.x, layer.w), column));
  EXPECT_EQ(fold(std::move(b)).nodes.size(), 2u);

  Layer second;
  Builder& c = second.builder;
  const ValueId twice = matmul(c, second.x, second.w);
  c.output(add(c, twice, twice));
  EXPECT_EQ(fold(std::move(c)).nodes.size(), 2u);
}

TEST(Epilogues, ASecondReluOrBiasStaysOutside) {
  Layer layer;
  Builder& b = layer.builder;
  const ValueId once = relu(b, matmul(b, layer.x, layer.w));
  b.output(add(b, once, layer.bias));
  const Graph folded = fold(std::move(b));
  ASSERT_EQ(folded.nodes.size(), 2u);
  EXPECT_EQ(folded.nodes[0].inputs.size(), 2u);
}

}  // namespace
}  // namespace plimsoll::ops::testing
