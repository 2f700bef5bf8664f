// What the records cannot say: accuracy of long sums, splits, NaN, symbols.
#include "ops/reduction/reduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/autodiff.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduction/reduction_split.h"
#include "ops/registry.h"
#include "ops/run_op.h"
#include "ops/standard_ops.h"

namespace plimsoll::ops::testing {
namespace {

using Axes = std::vector<std::int64_t>;

RefTensor reduce(const char* op, const RefTensor& x, Axes axes) {
  ComputeThreads threads(2);
  const auto result =
      run_op(*find_op(op), {{"axes", std::move(axes)}}, {x}, threads);
  EXPECT_TRUE(result.ok());
  return result.ok() ? result->front() : RefTensor();
}

// Tenths are not exact in f32: a single running sum of a million drifts by
// more than 1e-3.
TEST(Reduction, AMillionElementsStayAccurate) {
  constexpr std::int64_t kCount = 1000000;
  const double tenth = static_cast<double>(0.1f);
  const std::vector<double> values(kCount, tenth);
  for (const Shape& shape : {Shape{kCount}, Shape{kCount, 1}}) {
    const auto sum =
        reduce("reduce_sum", tensor_of(DType::f32, shape, values), {});
    EXPECT_NEAR(sum.values[0] / (tenth * kCount), 1.0, 1e-6);
  }
  const auto columns =
      reduce("reduce_sum", tensor_of(DType::f32, {kCount / 4, 4}, values), {0});
  for (const double sum : columns.values) {
    EXPECT_NEAR(sum / (tenth * kCount / 4), 1.0, 1e-6);
  }
}

TEST(Reduction, SplitsDependOnTheShapeAlone) {
  const ReductionSplit small = split_reduction({32, 128}, {0});
  EXPECT_EQ(small.parts, 1);
  EXPECT_EQ(small.inner, 128);
  EXPECT_EQ(small.reduce, 32);
  EXPECT_EQ(small.scratch_bytes(), 0);
  const ReductionSplit all = split_reduction({1000, 1000}, {0, 1});
  EXPECT_EQ(all.reduce, 1000000);
  EXPECT_EQ(all.parts, 30);
  EXPECT_EQ(all.scratch_bytes(), 30 * 8);
  const ReductionSplit nest = split_reduction({2, 3, 4, 5}, {0, 2});
  EXPECT_EQ(nest.inner, 5);
  EXPECT_EQ(nest.reduce, 4);
  EXPECT_EQ(nest.repeats, 2);
  EXPECT_EQ(nest.outer, 3);
}

TEST(Reduction, ANaNReachesTheResult) {
  std::vector<double> values(300, 1.0);
  values[150] = std::numeric_limits<double>::quiet_NaN();
  for (const char* op : {"reduce_sum", "reduce_max"}) {
    EXPECT_TRUE(std::isnan(
        reduce(op, tensor_of(DType::f32, {300}, values), {}).values[0]));
    EXPECT_TRUE(std::isnan(
        reduce(op, tensor_of(DType::f32, {100, 3}, values), {0}).values[0]));
  }
}

// d mean(x) / dx is 1 / (3 B): the graph is built once, with B unknown.
TEST(Reduction, TheMeansGradientKnowsTheBatchOnlyWhenItRuns) {
  graph::Builder builder;
  const auto x = builder.input("x", {DType::f64, {Dim::batch(), 3}});
  const auto loss = reduce_mean(builder, x, {});
  const auto seed = builder.input("seed", {DType::f64, {}});
  const auto gradients =
      graph::add_gradients(builder, loss, seed, {{x}}, standard_ops());
  ASSERT_TRUE(gradients.ok()) << gradients.error().message;
  const auto id = gradients->front();
  EXPECT_EQ(builder.type(id).shape, builder.type(x).shape);
  const auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph.ok());
  ComputeThreads threads(1);
  for (const std::int64_t batch : {1, 4, 7}) {
    const auto count = static_cast<std::size_t>(3 * batch);
    const auto values = run_graph(
        *graph, batch,
        {tensor_of(DType::f64, {batch, 3}, std::vector<double>(count, 2.0)),
         tensor_of(DType::f64, {}, {1.0})},
        threads);
    ASSERT_TRUE(values.ok()) << values.error().message;
    EXPECT_DOUBLE_EQ((*values)[loss.pos()].values[0], 2.0);
    ASSERT_EQ((*values)[id.pos()].values.size(), count);
    for (const double slope : (*values)[id.pos()].values) {
      EXPECT_DOUBLE_EQ(slope, 1.0 / static_cast<double>(3 * batch));
    }
  }
}

TEST(Reduction, TiesShareTheMaximumsGradient) {
  graph::Builder builder;
  const auto x = builder.input("x", {DType::f64, {4}});
  const auto seed = builder.input("seed", {DType::f64, {}});
  const auto loss = reduce_max(builder, x, {});
  const auto gradients =
      graph::add_gradients(builder, loss, seed, {{x}}, standard_ops());
  ASSERT_TRUE(gradients.ok()) << gradients.error().message;
  const auto graph = std::move(builder).finish();
  ComputeThreads threads(1);
  const auto values = run_graph(*graph, 1,
                                {tensor_of(DType::f64, {4}, {1, 5, 5, 2}),
                                 tensor_of(DType::f64, {}, {1})},
                                threads);
  ASSERT_TRUE(values.ok()) << values.error().message;
  EXPECT_EQ((*values)[gradients->front().pos()].values,
            (std::vector<double>{0, 0.5, 0.5, 0}));
}

TEST(Reduction, BadAxesAreNamed) {
  graph::Builder builder;
  const auto x = builder.input("x", {DType::f32, {Dim::batch(), 3}});
  reduce_sum(builder, x, {2});
  ASSERT_FALSE(builder.ok());
  EXPECT_NE(builder.status().error().message.find("axis 2"), std::string::npos);
  EXPECT_NE(builder.status().error().message.find("[B, 3]"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::ops::testing
