// Fusing element-wise nodes changes neither values nor the meaning of a graph.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/philox.h"
#include "graph/passes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduction/reduction.h"
#include "ops/run_op.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Builder;
using graph::Graph;
using graph::Phase;
using graph::TensorType;
using graph::ValueId;

const TensorType kRows{DType::f32, {Dim::batch(), 70}};
constexpr std::int64_t kBatch = 5;

std::vector<RefTensor> feed(const Graph& graph) {
  std::vector<RefTensor> inputs;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    RefTensor tensor{graph.type(graph.inputs[i]).at(kBatch), {}};
    for (std::int64_t j = 0; j < tensor.type.shape.elements(); ++j) {
      const auto words = philox(3, i, static_cast<std::uint64_t>(j));
      tensor.values.push_back(
          static_cast<float>(2 * uniform_double(words[0], words[1]) - 1));
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

void expect_valid_order(const Graph& graph) {
  std::set<ValueId> known(graph.inputs.begin(), graph.inputs.end());
  for (const graph::State& state : graph.states) known.insert(state.value);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId input : graph.nodes[i].inputs) {
      EXPECT_TRUE(known.contains(input)) << "node " << i << " reads too early";
    }
    for (const ValueId output : graph.nodes[i].outputs) {
      known.insert(output);
      EXPECT_EQ(graph.value(output).producer, graph::NodeId(i));
    }
  }
  for (const ValueId output : graph.outputs) {
    EXPECT_TRUE(known.contains(output)) << "an output is made by nobody";
  }
}

// The fused graph, after checking that its outputs have the same bits.
Graph fuse_and_compare(Builder&& builder) {
  auto finished = std::move(builder).finish();
  EXPECT_TRUE(finished.ok()) << finished.error().message;
  const Graph before = *std::move(finished);
  const Graph after =
      graph::remove_dead_code(graph::fuse_elementwise(before, fused_op()));
  expect_valid_order(after);
  EXPECT_EQ(before.outputs, after.outputs);
  ComputeThreads threads(1);
  const auto plain = run_graph(before, kBatch, feed(before), threads);
  const auto fused = run_graph(after, kBatch, feed(after), threads);
  EXPECT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_TRUE(fused.ok()) << fused.error().message;
  if (!plain.ok() || !fused.ok()) return after;
  for (const ValueId output : before.outputs) {
    EXPECT_FALSE((*plain)[output.pos()].values.empty());
    EXPECT_EQ((*plain)[output.pos()].values, (*fused)[output.pos()].values);
  }
  return after;
}

std::ptrdiff_t count_fused(const Graph& graph) {
  return std::count_if(
      graph.nodes.begin(), graph.nodes.end(),
      [](const graph::Node& node) { return node.op == &fused_op(); });
}

TEST(Fusion, AChainBecomesOneNode) {
  Builder g;
  g.set_scope("dense_1");
  const ValueId x = g.input("x", kRows);
  const ValueId bias = g.input("bias", {DType::f32, {70}});
  g.output(gelu(g, multiply_scalar(g, add(g, x, bias), 0.5)));
  const Graph fused = fuse_and_compare(std::move(g));
  ASSERT_EQ(fused.nodes.size(), 1u);
  EXPECT_EQ(fused.nodes[0].op, &fused_op());
  EXPECT_EQ(fused.nodes[0].name, "dense_1");
}

TEST(Fusion, AChoiceBetweenTwoJoinsWithAllThree) {
  Builder g;
  const ValueId x = g.input("x", kRows);
  const ValueId row = g.input("row", {DType::f32, {70}});
  const ValueId zero = constant(g, {DType::f32, {}}, 0);
  const ValueId chosen = less(g, x, row);
  g.output(where(g, chosen, silu(g, x), where(g, x, row, zero)));
  const Graph fused = fuse_and_compare(std::move(g));
  ASSERT_EQ(fused.nodes.size(), 1u);
  EXPECT_EQ(fused.nodes[0].inputs.size(), 2u);
}

TEST(Fusion, ValuesReadElsewhereStayOutputs) {
  Builder g;
  const ValueId x = g.input("x", kRows);
  const ValueId y = tanh(g, x);
  const ValueId z = square(g, y);
  g.output(reduce_sum(g, y, {1}));
  g.output(z);
  const Graph fused = fuse_and_compare(std::move(g));
  ASSERT_EQ(fused.nodes.size(), 2u);
  EXPECT_EQ(fused.nodes[0].outputs.size(), 2u);
}

TEST(Fusion, AWayAroundThroughAnotherNodeIsLeft) {
  Builder g;
  const ValueId x = g.input("x", kRows);
  const ValueId e = exp(g, x);
  const ValueId total = reduce_sum(g, e, {1}, true);
  // One group of exp and divide would wait for itself.
  g.output(negate(g, divide(g, e, total)));
  const Graph fused = fuse_and_compare(std::move(g));
  ASSERT_EQ(fused.nodes.size(), 3u);
  EXPECT_EQ(count_fused(fused), 1);
}

TEST(Fusion, JoinsTwoGroupsAndOrdersTheirReaders) {
  Builder g;
  const ValueId x = g.input("x", kRows);
  const ValueId a = exp(g, x);
  const ValueId sum = reduce_sum(g, a, {0, 1}, true);
  const ValueId b = tanh(g, x);
  const ValueId wide = square(g, add(g, a, b));
  g.output(multiply(g, negate(g, wide), sum));
  fuse_and_compare(std::move(g));
}

TEST(Fusion, ConstantsOfAnyShapeAreTakenIn) {
  Builder g;
  const ValueId x = g.input("x", kRows);
  const ValueId half = constant(g, {DType::f32, {}}, 0.5);
  const ValueId row = constant(g, {DType::f32, {70}}, -2);
  g.output(add(g, multiply(g, x, half), row));
  const Graph fused = fuse_and_compare(std::move(g));
  ASSERT_EQ(fused.nodes.size(), 1u);
  EXPECT_EQ(fused.nodes[0].inputs.size(), 1u);
}

TEST(Fusion, GroupsWithoutInputsKeepTheirShape) {
  Builder g;
  const ValueId x = g.input("x", {DType::f32, {}});
  g.output(add_scalar(g, broadcast_to(g, x, kRows.shape), 1));
  g.output(exp(g, negate(g, constant(g, kRows, 0.25))));
  const Graph fused = fuse_and_compare(std::move(g));
  EXPECT_EQ(fused.nodes.size(), 2u);
}

TEST(Fusion, PhasesAndShapesStayApart) {
  Builder g;
  const ValueId x = g.input("x", kRows);
  const ValueId row = g.input("row", {DType::f32, {70}});
  const ValueId y = relu(g, x);
  g.set_phase(Phase::backward);
  const ValueId dy = relu_grad(g, x, y);
  const ValueId scaled = multiply(g, dy, square(g, row));
  g.output(scaled);
  g.output(y);
  const Graph fused = fuse_and_compare(std::move(g));
  ASSERT_EQ(fused.nodes.size(), 3u);
  EXPECT_EQ(count_fused(fused), 1);
  for (const graph::Node& node : fused.nodes) {
    const bool forward = node.outputs[0] == y;
    EXPECT_EQ(node.phase, forward ? Phase::forward : Phase::backward);
  }
}

TEST(Fusion, AssignedValuesAreKept) {
  Builder g;
  const ValueId x = g.input("x", kRows);
  const ValueId state = g.state("s", graph::Role::statistic, kRows);
  const ValueId y = exp(g, x);
  g.assign(state, y);
  g.output(negate(g, y));
  const Graph before = *std::move(g).finish();
  const Graph after = graph::fuse_elementwise(before, fused_op());
  ASSERT_EQ(after.nodes.size(), 1u);
  EXPECT_EQ(after.nodes[0].outputs.size(), 2u);
  EXPECT_EQ(after.assigns[0].value, y);
}

// Random graphs: whatever is merged, the values stay.
TEST(Fusion, RandomGraphsKeepTheirBits) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Builder g;
    std::vector<ValueId> values = {
        g.input("a", kRows), g.input("b", kRows),
        g.input("c", {DType::f32, {70}}),
        g.input("d", {DType::f32, {Dim::batch(), 1}})};
    for (std::uint64_t i = 0; i < 30; ++i) {
      const auto words = philox(seed, 1, i);
      const auto pick = [&](std::size_t word) {
        return values[words[word] % values.size()];
      };
      switch (words[0] % 6) {
        case 0:
          values.push_back(add(g, pick(1), pick(2)));
          break;
        case 1:
          values.push_back(multiply(g, pick(1), pick(2)));
          break;
        case 2:
          values.push_back(tanh(g, pick(1)));
          break;
        case 3:
          values.push_back(maximum(g, pick(1), pick(2)));
          break;
        case 4:
          values.push_back(
              subtract(g, pick(1),
                       constant(g, {DType::f32, {1}}, double(words[3] % 7))));
          break;
        default:
          // Rank 1 of 70 again, by way of something that cannot be fused.
          values.push_back(
              reduce_max(g, add(g, pick(1), values[0]), {0}, false));
      }
    }
    for (std::size_t i = values.size() - 3; i < values.size(); ++i) {
      g.output(values[i]);
    }
    const Graph fused = fuse_and_compare(std::move(g));
    EXPECT_FALSE(fused.nodes.empty());
  }
}

}  // namespace
}  // namespace plimsoll::ops::testing
