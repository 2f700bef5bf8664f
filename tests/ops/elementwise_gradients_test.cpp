// Where gradients are a matter of choice: ties, bounds, the side of a `where`
// that was not taken, powers of what is not positive.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "graph/autodiff.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduction/reduction.h"
#include "ops/run_op.h"
#include "ops/standard_ops.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Builder;
using graph::ValueId;
using Values = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Gradients of sum(f(inputs)) for each input.
std::vector<Values> gradients(
    const std::function<ValueId(Builder&, const std::vector<ValueId>&)>& f,
    const std::vector<Values>& inputs) {
  Builder g;
  std::vector<ValueId> ids;
  std::vector<RefTensor> fed;
  for (const Values& values : inputs) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    ids.push_back(g.input("x", {DType::f64, shape}));
    fed.push_back(tensor_of(DType::f64, shape, values));
  }
  const ValueId loss = reduce_sum(g, f(g, ids), {});
  const ValueId seed = g.input("seed", {DType::f64, {}});
  fed.push_back(tensor_of(DType::f64, {}, {1}));
  const auto wanted = graph::add_gradients(g, loss, seed, ids, standard_ops());
  EXPECT_TRUE(wanted.ok()) << wanted.error().message;
  auto graph = std::move(g).finish();
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  ComputeThreads threads(1);
  const auto values = run_graph(*graph, 1, fed, threads);
  EXPECT_TRUE(values.ok()) << values.error().message;
  std::vector<Values> found;
  for (const ValueId id : *wanted) found.push_back((*values)[id.pos()].values);
  return found;
}

TEST(ElementwiseGradients, EqualsShareHalfAndHalf) {
  const std::vector<Values> inputs = {{1, 2, 3}, {2, 2, 2}};
  const auto larger = gradients(
      [](Builder& g, const auto& in) { return maximum(g, in[0], in[1]); },
      inputs);
  EXPECT_EQ(larger[0], (Values{0, 0.5, 1}));
  EXPECT_EQ(larger[1], (Values{1, 0.5, 0}));
  const auto smaller = gradients(
      [](Builder& g, const auto& in) { return minimum(g, in[0], in[1]); },
      inputs);
  EXPECT_EQ(smaller[0], (Values{1, 0.5, 0}));
  EXPECT_EQ(smaller[1], (Values{0, 0.5, 1}));
}

TEST(ElementwiseGradients, ClipPassesWhatLiesInside) {
  const auto found = gradients(
      [](Builder& g, const auto& in) { return clip(g, in[0], -1, 2); },
      {{-3, -1, -0.5, 0, 1.5, 2, 7}});
  EXPECT_EQ(found[0], (Values{0, 0, 1, 1, 1, 0, 0}));
}

// What lies between its two ends would have to be kept.
TEST(ElementwiseGradients, ClipReadsItsEndsAlone) {
  Builder g;
  const ValueId x = g.input("x", {DType::f64, {3}});
  const ValueId y = clip(g, x, -1, 2);
  const ValueId between = g.graph().nodes[0].outputs[0];
  ASSERT_NE(between, y);
  const ValueId seed = g.input("seed", {DType::f64, {3}});
  const ValueId wanted[] = {x};
  ASSERT_TRUE(graph::add_gradients(g, y, seed, wanted, standard_ops()).ok());
  for (const graph::Node& node : g.graph().nodes) {
    if (node.phase != graph::Phase::backward) continue;
    for (const ValueId input : node.inputs) EXPECT_NE(input, between);
  }
}

TEST(ElementwiseGradients, TheSideNotTakenLeaksNothing) {
  const auto found = gradients(
      [](Builder& g, const auto& in) {
        const ValueId positive = greater_scalar(g, in[0], 0);
        return multiply(
            g, in[1], where(g, positive, in[0], multiply_scalar(g, in[2], 3)));
      },
      {{4, 0, -2}, {1, 2, 3}, {kNan, 5, 6}});
  EXPECT_EQ(found[0], (Values{1, 0, 0}));
  EXPECT_EQ(found[1], (Values{4, 15, 18}));
  EXPECT_EQ(found[2], (Values{0, 6, 9}));
}

TEST(ElementwiseGradients, InfiniteGradientsStayOnTheirSide) {
  const auto found = gradients(
      [](Builder& g, const auto& in) {
        const ValueId first = greater(g, in[0], in[1]);
        return multiply(g, where(g, first, in[0], in[1]), in[2]);
      },
      {{2, 1}, {1, 2}, {kInfinity, kInfinity}});
  EXPECT_EQ(found[0], (Values{kInfinity, 0}));
  EXPECT_EQ(found[1], (Values{0, kInfinity}));
}

TEST(ElementwiseGradients, PowersOfWhatIsNotPositive) {
  const auto found = gradients(
      [](Builder& g, const auto& in) { return power(g, in[0], in[1]); },
      {{2, -2, 0, 0, -3, 0}, {3, 3, 2, 0, 2, 1}});
  EXPECT_EQ(found[0], (Values{12, 12, 0, 0, -6, 1}));
  EXPECT_EQ(found[1], (Values{8 * std::log(2), 0, 0, 0, 0, 0}));
  const auto constant = gradients(
      [](Builder& g, const auto& in) { return power_scalar(g, in[0], 0); },
      {{2, 0}});
  EXPECT_EQ(constant[0], (Values{0, 0}));
  const auto squared = gradients(
      [](Builder& g, const auto& in) { return power_scalar(g, in[0], 2); },
      {{-3, 0}});
  EXPECT_EQ(squared[0], (Values{-6, 0}));
}

}  // namespace
}  // namespace plimsoll::ops::testing
