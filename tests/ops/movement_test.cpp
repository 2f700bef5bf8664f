// What records do not reach: refusals, batches, builders of several nodes.
#include <gtest/gtest.h>

#include <numeric>

#include "graph/autodiff.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/expand.h"
#include "ops/movement/join.h"
#include "ops/movement/stream_copy.h"
#include "ops/movement/window.h"
#include "ops/reduction/reduction.h"
#include "ops/run_op.h"
#include "ops/standard_ops.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Builder;
using graph::ValueId;

const Dim kBatch = Dim::batch();

std::vector<double> counted(std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0.0);
  return values;
}

// The values of all inputs are 0, 1, 2, ...
std::vector<double> run(Builder builder, ValueId wanted,
                        std::int64_t batch = 1) {
  const auto graph = std::move(builder).finish();
  if (!graph) {
    ADD_FAILURE() << graph.error().message;
    return {};
  }
  std::vector<RefTensor> inputs;
  for (const ValueId id : graph->inputs) {
    const graph::TensorType type = graph->type(id).at(batch);
    inputs.push_back({type, counted(type.shape.elements())});
  }
  ComputeThreads threads(1);
  const auto values = run_graph(*graph, batch, inputs, threads);
  if (!values) {
    ADD_FAILURE() << values.error().message;
    return {};
  }
  return (*values)[wanted.pos()].values;
}

void expect_refused(const Builder& builder, std::string_view words) {
  ASSERT_FALSE(builder.ok());
  EXPECT_EQ(builder.status().error().code, ErrorCode::bad_input);
  EXPECT_NE(builder.status().error().message.find(words), std::string::npos)
      << builder.status().error().message;
}

TEST(Movement, ConcatAndSplitAlongTheBatchCountMultiplesOfIt) {
  Builder builder;
  const ValueId a = builder.input("a", {DType::f32, {kBatch, 2}});
  const ValueId b = builder.input("b", {DType::f32, {Dim::batch(2), 2}});
  const ValueId both = concat(builder, {a, b}, 0);
  ASSERT_TRUE(builder.ok());
  EXPECT_EQ(builder.type(both).shape, (Shape{Dim::batch(3), 2}));
  const auto parts = split(builder, both, 0, {1, 2});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(builder.type(parts[1]).shape, (Shape{Dim::batch(2), 2}));
  EXPECT_EQ(run(std::move(builder), parts[1], 3), counted(12));
}

TEST(Movement, TheGradientOfConcatAlongTheBatchIsASplit) {
  Builder builder;
  const ValueId a = builder.input("a", {DType::f64, {kBatch, 2}});
  const ValueId b = builder.input("b", {DType::f64, {kBatch, 2}});
  const ValueId weights = builder.input("w", {DType::f64, {Dim::batch(2), 2}});
  const ValueId loss = reduce_sum(
      builder, multiply(builder, concat(builder, {a, b}, 0), weights), {});
  const ValueId seed = constant(builder, builder.type(loss), 1);
  const auto gradients = graph::add_gradients(
      builder, loss, seed, std::vector{a, b}, standard_ops());
  ASSERT_TRUE(gradients) << gradients.error().message;
  EXPECT_EQ(run(std::move(builder), (*gradients)[1], 2),
            (std::vector<double>{4, 5, 6, 7}));
}

TEST(Movement, PartsOfASplitThatNobodyUsesHaveNoGradient) {
  Builder builder;
  const ValueId a = builder.input("a", {DType::f64, {2, 3}});
  const auto parts = split(builder, a, 1, {1, 2});
  const ValueId loss = reduce_sum(builder, square(builder, parts[1]), {});
  const ValueId seed = constant(builder, builder.type(loss), 1);
  const auto gradients =
      graph::add_gradients(builder, loss, seed, std::vector{a}, standard_ops());
  ASSERT_TRUE(gradients) << gradients.error().message;
  EXPECT_EQ(run(std::move(builder), (*gradients)[0]),
            (std::vector<double>{0, 2, 4, 0, 8, 10}));
}

TEST(Movement, ManyValuesAreJoinedAndTakenApartInGroups) {
  Builder builder;
  const ValueId a = builder.input("a", {DType::f32, {2, 5000}});
  const auto parts = split_equally(builder, a, 1, 5000);
  ASSERT_EQ(parts.size(), 5000u);
  const ValueId again = concat(builder, parts, 1);
  for (const graph::Node& node : builder.graph().nodes) {
    EXPECT_LE(node.inputs.size() + node.outputs.size(), 65u);
  }
  EXPECT_EQ(run(std::move(builder), again), counted(10000));
}

TEST(Movement, StackPutsValuesAlongANewAxis) {
  Builder builder;
  const ValueId a = builder.input("a", {DType::i32, {kBatch, 2}});
  const ValueId b = builder.input("b", {DType::i32, {kBatch, 2}});
  const ValueId last = stack(builder, {a, b}, -1);
  const ValueId middle = stack(builder, {a, b}, 1);
  ASSERT_TRUE(builder.ok());
  EXPECT_EQ(builder.type(last).shape, (Shape{kBatch, 2, 2}));
  EXPECT_EQ(builder.type(middle).shape, (Shape{kBatch, 2, 2}));
  EXPECT_EQ(run(builder, last, 1), (std::vector<double>{0, 0, 1, 1}));
  EXPECT_EQ(run(std::move(builder), middle, 1),
            (std::vector<double>{0, 1, 0, 1}));
}

TEST(Movement, AxesOfOneComeAndGoAsViews) {
  Builder builder;
  const ValueId a = builder.input("a", {DType::f32, {kBatch, 3}});
  const ValueId wide = expand_dims(builder, a, -1);
  EXPECT_EQ(builder.type(wide).shape, (Shape{kBatch, 3, 1}));
  const ValueId back = squeeze(builder, wide, {2});
  EXPECT_EQ(builder.type(back).shape, (Shape{kBatch, 3}));
  for (const graph::Node& node : builder.graph().nodes) {
    EXPECT_TRUE(node.op->is_view);
  }
  squeeze(builder, wide, {1});
  expect_refused(builder, "squeeze of f32[B, 3, 1]: axis 1 is not of extent 1");
}

TEST(Movement, ExpandFusesFloatsAndMovesIntegers) {
  Builder builder;
  const ValueId a = builder.input("a", {DType::f32, {kBatch, 1}});
  const ValueId b = builder.input("b", {DType::i32, {kBatch, 1}});
  const ValueId x = expand(builder, a, {kBatch, 3});
  const ValueId y = expand(builder, b, {kBatch, 3});
  ASSERT_TRUE(builder.ok());
  const graph::Graph& graph = builder.graph();
  EXPECT_EQ(graph.node(graph.value(x).producer).op->name, "identity");
  EXPECT_EQ(graph.node(graph.value(y).producer).op->name, "expand");
  EXPECT_EQ(run(builder, y, 2), (std::vector<double>{0, 0, 0, 1, 1, 1}));
  expand(builder, a, {kBatch, 1, 3});
  expect_refused(builder, "expand of f32[B, 1]: does not broadcast to");
}

TEST(Movement, TheBatchIsNeitherSlicedNorPadded) {
  for (const auto& stops : {std::vector<std::int64_t>{2, kToEnd},
                            std::vector<std::int64_t>{1, 3}}) {
    Builder builder;
    const ValueId a = builder.input("a", {DType::f32, {kBatch, 3}});
    slice(builder, a, {0, 0}, stops);
    expect_refused(builder, "slice of [B, 3]: axis 0 is the batch");
  }
  Builder builder;
  const ValueId a = builder.input("a", {DType::f32, {kBatch, 3}});
  const ValueId inner = slice(builder, a, {0, 1}, {kToEnd, 3});
  ASSERT_TRUE(builder.ok());
  EXPECT_EQ(builder.type(inner).shape, (Shape{kBatch, 2}));
  EXPECT_EQ(run(builder, inner, 2), (std::vector<double>{1, 2, 4, 5}));
  pad(builder, a, {1, 0}, {0, 0});
  expect_refused(builder, "pad of [B, 3]: axis 0 is the batch");
}

TEST(Movement, StreamsCopyEveryByteAndNoOther) {
  std::vector<char> from(1000);
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = static_cast<char>(i % 251);
  }
  for (const std::int64_t bytes : {0, 1, 63, 64, 65, 127, 300, 777}) {
    for (std::int64_t at = 0; at < 66; at += 5) {
      std::vector<char> to(1000, 'x');
      stream_copy(to.data() + at, from.data() + 3, bytes);
      finish_streams();
      std::vector<char> want(1000, 'x');
      std::copy_n(from.begin() + 3, bytes, want.begin() + at);
      EXPECT_EQ(to, want) << bytes << " bytes at " << at;
    }
  }
}

TEST(Movement, LargeMovesAreTheSame) {
  const Shape half{1100, 2000};  // 16.8 MiB in all
  const std::int64_t count = half.elements();
  auto right = counted(count);
  for (double& value : right) value += 0.5;
  const RefTensor a = tensor_of(DType::f32, half, counted(count));
  const RefTensor b = tensor_of(DType::f32, half, right);
  ComputeThreads threads(2);
  for (const std::int64_t axis : {0, 1}) {
    const auto both = run_op(concat_op(), {{"axis", axis}}, {a, b}, threads);
    ASSERT_TRUE(both);
    const auto parts = run_op(
        split_op(),
        {{"axis", axis},
         {"sizes", Shape{half.extent(int(axis)), half.extent(int(axis))}}},
        *both, threads);
    ASSERT_TRUE(parts);
    EXPECT_TRUE((*parts)[0].values == a.values) << axis;
    EXPECT_TRUE((*parts)[1].values == b.values) << axis;
    const std::int64_t last = axis == 0 ? count - 1 : 2 * 2000 - 1;
    EXPECT_EQ(
        (*both)[0]
            .values[static_cast<std::size_t>(last + (axis == 0 ? count : 0))],
        right[static_cast<std::size_t>(axis == 0 ? count - 1 : 1999)]);
  }
}

TEST(Movement, MistakesAreNamed) {
  const auto refused = [](auto make, std::string_view words) {
    Builder builder;
    const ValueId a = builder.input("a", {DType::f32, {2, 3}});
    const ValueId b = builder.input("b", {DType::f32, {2, 4}});
    const ValueId c = builder.input("c", {DType::u8, {2, 3}});
    make(builder, a, b, c);
    expect_refused(builder, words);
  };
  using V = ValueId;
  refused(
      [](Builder& g, V a, V b, V) {
        concat(g, {a, b}, 0);
      },
      "f32[2, 3] and f32[2, 4] must agree");
  refused(
      [](Builder& g, V a, V, V c) {
        concat(g, {a, c}, 0);
      },
      "f32[2, 3] and u8[2, 3] must agree");
  refused(
      [](Builder& g, V a, V b, V) {
        concat(g, {a, b}, 2);
      },
      "axis 2): there is no such axis");
  refused([](Builder& g, V, V, V) { concat(g, {}, 0); }, "1 to 64 operands");
  refused(
      [](Builder& g, V a, V b, V) {
        stack(g, {a, b}, 0);
      },
      "all operands must have one shape");
  refused([](Builder& g, V a, V, V) { split(g, a, 1, {1, 1}); }, "add up to 3");
  refused(
      [](Builder& g, V a, V, V) {
        split(g, a, 1, {4, -1});
      },
      "add up to 3");
  refused([](Builder& g, V a, V, V) { split_equally(g, a, 1, 2); },
          "3 are no 2 equal parts");
  refused([](Builder& g, V a, V, V) { slice(g, a, {0}, {1}); },
          "slice of [2, 3]: 1 starts for 2 axes");
  refused(
      [](Builder& g, V a, V, V) {
        slice(g, a, {0, 0}, {1, 1}, {1, 0});
      },
      "axis 1 has step 0; steps are 1 or more");
  refused(
      [](Builder& g, V a, V, V) {
        pad(g, a, {0, -1}, {0, 0});
      },
      "axis 1 is padded by -1; padding is 0 or more");
  refused(
      [](Builder& g, V, V, V c) {
        pad(g, c, {0, 1}, {0, 0}, 0.5);
      },
      "0.5 is no value of u8");
  refused([](Builder& g, V a, V, V) { expand_dims(g, a, 3); },
          "the result has no axis 3");
}

}  // namespace
}  // namespace plimsoll::ops::testing
