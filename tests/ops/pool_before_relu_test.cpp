// Pooling before relu gives the same bits, forward and backward.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/autodiff.h"
#include "graph/passes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/pooling/pooling.h"
#include "ops/run_op.h"
#include "ops/standard_ops.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Builder;
using graph::Graph;
using graph::ValueId;

constexpr std::int64_t kBatch = 2;
constexpr Pool2dSettings kPool = {{3, 3}, {2, 2}, {1, 1, 1, 1}};

// Small whole numbers: many ties, windows without a positive one.
std::vector<RefTensor> feed(const Graph& graph) {
  std::vector<RefTensor> inputs;
  std::uint32_t next = 7;
  for (const ValueId id : graph.inputs) {
    RefTensor tensor{graph.type(id).at(kBatch), {}};
    for (std::int64_t i = 0; i < tensor.type.shape.elements(); ++i) {
      next = next * 1664525u + 1013904223u;
      tensor.values.push_back(static_cast<double>(next >> 29) - 6);
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

// Rewritten, after checking that every output still has its bits.
Graph rewrite(Builder&& builder) {
  const auto before = std::move(builder).finish();
  EXPECT_TRUE(before) << before.error().message;
  Graph after = graph::pool_before_relu(*before);
  ComputeThreads threads(1);
  const auto plain = run_graph(*before, kBatch, feed(*before), threads);
  const auto swapped = run_graph(after, kBatch, feed(after), threads);
  EXPECT_TRUE(plain.ok() && swapped.ok());
  for (std::size_t i = 0; i < before->outputs.size(); ++i) {
    EXPECT_EQ((*plain)[before->outputs[i].pos()].values,
              (*swapped)[after.outputs[i].pos()].values)
        << "output " << i;
  }
  return after;
}

std::string names(const Graph& graph) {
  std::string all;
  for (const graph::Node& node : graph.nodes) {
    all += std::string(node.op->name) + " ";
  }
  return all;
}

struct Images {
  Builder builder;
  ValueId x = builder.input("x", {DType::f32, {Dim::batch(), 7, 8, 3}});
  ValueId y = relu(builder, x);
  ValueId pooled = max_pool2d(builder, y, kPool);

  void add_gradient() {
    const ValueId flow = builder.input("dy", builder.type(pooled));
    const auto made = graph::add_gradients(builder, pooled, flow,
                                           std::vector{x}, standard_ops());
    ASSERT_TRUE(made) << made.error().message;
    builder.output((*made)[0]);
  }
};

TEST(PoolBeforeRelu, InferenceKeepsItsBits) {
  Images images;
  images.builder.output(images.pooled);
  EXPECT_EQ(names(rewrite(std::move(images.builder))), "max_pool2d relu ");
}

TEST(PoolBeforeRelu, TrainingKeepsItsBits) {
  Images images;
  images.builder.output(images.pooled);
  images.add_gradient();
  const Graph after = rewrite(std::move(images.builder));
  EXPECT_EQ(names(after), "max_pool2d relu relu_grad max_pool2d_grad ");
  // Backward reads pooled images, not whole ones.
  EXPECT_EQ(after.nodes[2].inputs[1], after.nodes[1].outputs[0]);
}

TEST(PoolBeforeRelu, AnotherReaderOfReluPreventsIt) {
  Images skip;
  skip.builder.output(skip.y);
  skip.builder.output(skip.pooled);
  EXPECT_EQ(names(rewrite(std::move(skip.builder))), "relu max_pool2d ");

  Images twice;
  twice.builder.output(twice.y);
  twice.builder.output(twice.pooled);
  twice.add_gradient();
  EXPECT_EQ(names(rewrite(std::move(twice.builder))),
            "relu max_pool2d max_pool2d_grad relu_grad ");
}

TEST(PoolBeforeRelu, ReluMovesBehindPoolingsInARow) {
  Images images;
  images.pooled = max_pool2d(images.builder, images.pooled, kPool);
  images.builder.output(images.pooled);
  images.add_gradient();
  EXPECT_EQ(names(rewrite(std::move(images.builder))),
            "max_pool2d max_pool2d relu relu_grad max_pool2d_grad "
            "max_pool2d_grad ");
}

}  // namespace
}  // namespace plimsoll::ops::testing
