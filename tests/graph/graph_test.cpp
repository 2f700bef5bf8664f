#include <gtest/gtest.h>

#include "graph/autodiff.h"
#include "graph/builder.h"
#include "graph/lowered.h"
#include "graph/passes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/movement.h"
#include "ops/reduction/reduction.h"
#include "ops/standard_ops.h"
#include "ops/update/update.h"

namespace plimsoll::graph {
namespace {

// Offers one free kernel for everything.
class AnyKernel final : public KernelCatalog {
 public:
  Result<std::vector<KernelCandidate>> candidates(
      const KernelQuery& query) const override {
    if (query.op->name == refused) {
      return Error{ErrorCode::unsupported, "no kernel for it"};
    }
    return std::vector<KernelCandidate>{{"any", 0, 0, 1e-6}};
  }
  std::string_view refused;
};

const TensorType kRow{DType::f32, Shape{Dim::batch(), 8}};

TEST(Builder, KeepsTheFirstMistakeAndNamesTheScope) {
  Builder b;
  const ValueId x = b.input("x", kRow);
  const ValueId y = b.input("y", {DType::f32, Shape{Dim::batch(), 3}});
  b.set_scope("dense_7");
  const ValueId sum = ops::add(b, x, y);
  EXPECT_FALSE(sum.valid());
  EXPECT_FALSE(ops::relu(b, x).valid());
  const auto graph = std::move(b).finish();
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().message.find("dense_7"), std::string::npos);
  EXPECT_NE(graph.error().message.find("[B, 8]"), std::string::npos);
  EXPECT_NE(graph.error().message.find("[B, 3]"), std::string::npos);
}

TEST(Builder, RefusesAnAssignmentOfAnotherType) {
  Builder b;
  const ValueId s = b.state("s", Role::parameter, {DType::f32, Shape{4}});
  b.assign(s, b.input("x", kRow));
  EXPECT_FALSE(b.ok());
}

TEST(DeadCode, DropsWhatNobodyReads) {
  Builder b;
  const ValueId x = b.input("x", kRow);
  ops::exp(b, x);
  b.output(ops::relu(b, x));
  const Graph graph = *std::move(b).finish();
  const Graph live = remove_dead_code(graph);
  ASSERT_EQ(live.nodes.size(), 1u);
  EXPECT_EQ(live.nodes[0].op->name, "relu");
  EXPECT_EQ(live.value(live.outputs[0]).producer, NodeId(0));
}

TEST(CommonSubexpressions, MergesEqualWorkAndKeepsOtherWork) {
  Builder b;
  const ValueId x = b.input("x", kRow);
  b.output(ops::add(b, ops::exp(b, x), ops::exp(b, x)));
  b.output(ops::add(b, ops::leaky_relu(b, x, 0.1), ops::leaky_relu(b, x, 0.2)));
  const Graph graph = *std::move(b).finish();
  const Graph merged = remove_dead_code(merge_common_subexpressions(graph));
  EXPECT_EQ(graph.nodes.size(), 6u);
  EXPECT_EQ(merged.nodes.size(), 5u);
}

TEST(Autodiff, NamesAnOpWithoutGradient) {
  Builder b;
  const ValueId x = b.state("x", Role::parameter, {DType::i64, Shape{}});
  const ValueId y = ops::increment(b, x);
  const ValueId seed = ops::increment(b, x);
  const std::vector<ValueId> wanted = {x};
  const auto gradients = add_gradients(b, y, seed, wanted, ops::standard_ops());
  ASSERT_FALSE(gradients.ok());
  EXPECT_NE(gradients.error().message.find("increment"), std::string::npos);
}

TEST(Autodiff, NamesAParameterTheLossDoesNotDependOn) {
  Builder b;
  const ValueId x = b.input("x", kRow);
  const ValueId lonely =
      b.state("lonely", Role::parameter, {DType::f32, Shape{8}});
  const ValueId loss = ops::reduce_sum(b, x, {});
  const std::vector<ValueId> wanted = {lonely};
  const auto gradients =
      add_gradients(b, loss, ops::constant(b, {DType::f32, Shape{}}, 1), wanted,
                    ops::standard_ops());
  ASSERT_FALSE(gradients.ok());
  EXPECT_NE(gradients.error().message.find("lonely"), std::string::npos);
}

TEST(Lowering, WritesUpdatesIntoTheirState) {
  Builder b;
  const ValueId x = b.input("x", kRow);
  const ValueId p = b.state("p", Role::parameter, {DType::f32, Shape{8}});
  const ValueId rate = b.state("rate", Role::counter, {DType::f32, Shape{}});
  const ValueId y = ops::multiply(b, x, p);
  const ValueId g = ops::reduce_sum(b, y, {0});
  b.assign(p, ops::sgd(b, p, g, rate));
  b.output(y);
  const Graph graph = *std::move(b).finish();
  const auto lowered = lower(graph, 4, AnyKernel(), ops::standard_ops());
  ASSERT_TRUE(lowered.ok());
  const Instruction& update = lowered->instructions.back();
  ASSERT_EQ(update.op->name, "sgd");
  EXPECT_EQ(update.outputs[0], lowered->states[0]);
  // The reader of the old value must have run before it is overwritten.
  EXPECT_NE(std::find(update.after.begin(), update.after.end(), 0),
            update.after.end());
}

TEST(Lowering, CopiesAStateThatIsReadLater) {
  Builder b;
  const ValueId s = b.state("s", Role::statistic, kRow.at(4));
  const ValueId next = ops::exp(b, s);
  b.assign(s, next);
  b.output(ops::add(b, next, s));
  const Graph graph = *std::move(b).finish();
  const auto lowered = lower(graph, 4, AnyKernel(), ops::standard_ops());
  ASSERT_TRUE(lowered.ok());
  const Instruction& last = lowered->instructions.back();
  EXPECT_EQ(last.op->name, "copy");
  EXPECT_EQ(last.outputs[0], lowered->states[0]);
}

TEST(Lowering, TakesOverABufferOnlyAfterItsLastReader) {
  Builder b;
  const ValueId x = b.input("x", kRow);
  const ValueId a = ops::exp(b, x);
  const ValueId c = ops::relu(b, a);  // a is read again: no takeover
  b.output(ops::add(b, c, a));        // takes over c or a
  const Graph graph = *std::move(b).finish();
  const auto lowered = lower(graph, 4, AnyKernel(), ops::standard_ops());
  ASSERT_TRUE(lowered.ok());
  int transient = 0;
  for (const Buffer& buffer : lowered->buffers) {
    transient += buffer.kind == BufferKind::transient ? 1 : 0;
  }
  EXPECT_EQ(transient, 2);
}

TEST(Lowering, BackwardDoesNotRunAheadOnForwardsValues) {
  Builder b;
  const ValueId x = b.input("x", kRow);
  const ValueId a = ops::exp(b, x);
  const ValueId y = ops::exp(b, a);
  b.set_phase(Phase::backward);
  const ValueId dy = ops::sqrt(b, y);    // of forward alone: after y
  const ValueId again = ops::exp(b, a);  // likewise: after dy
  b.output(ops::add(b, dy, again));      // reads what backward has made
  b.output(a);
  const Graph graph = *std::move(b).finish();
  const auto lowered = lower(graph, 4, AnyKernel(), ops::standard_ops());
  ASSERT_TRUE(lowered.ok());
  ASSERT_EQ(lowered->instructions.size(), 5u);
  EXPECT_EQ(lowered->instructions[3].after, (std::vector{0, 2}));
  EXPECT_EQ(lowered->instructions[4].after, (std::vector{2, 3}));
}

TEST(Lowering, ViewsShareTheirBuffer) {
  Builder b;
  const ValueId x = b.input("x", kRow);
  const ValueId a = ops::exp(b, x);
  b.output(ops::relu(b, ops::reshape(b, a, Shape{Dim::batch(), 2, 4})));
  const Graph graph = *std::move(b).finish();
  const auto lowered = lower(graph, 4, AnyKernel(), ops::standard_ops());
  ASSERT_TRUE(lowered.ok());
  EXPECT_EQ(lowered->instructions.size(), 2u);
}

TEST(Lowering, RefusalNamesTheNode) {
  Builder b;
  const ValueId x = b.input("x", kRow);
  b.set_scope("layer_9");
  b.output(ops::exp(b, x));
  const Graph graph = *std::move(b).finish();
  AnyKernel catalog;
  catalog.refused = "exp";
  const auto lowered = lower(graph, 4, catalog, ops::standard_ops());
  ASSERT_FALSE(lowered.ok());
  EXPECT_NE(lowered.error().message.find("layer_9/exp"), std::string::npos);
}

// Offers products whose second operand and result are packed.
class PackedProducts final : public KernelCatalog {
 public:
  Result<std::vector<KernelCandidate>> candidates(
      const KernelQuery& query) const override {
    KernelCandidate candidate{"any", 0, 0, 1e-6};
    if (query.op->name == "matmul") {
      candidate.input_layouts = {{}, {{8, 6}, {4, 8}, {0}, {4}}};
      // Padded from 6 columns to 8.
      candidate.output_layouts = {{{4, 6}, {4, 16}, {1}, {4}}};
    }
    return std::vector{candidate};
  }
};

TEST(Lowering, PacksWhatAKernelWantsPacked) {
  Builder b;
  const ValueId x = b.input("x", kRow);
  const ValueId w = b.state("w", Role::parameter, {DType::f32, Shape{8, 6}});
  const ValueId first = ops::matmul(b, x, w);
  b.output(ops::add(b, first, ops::matmul(b, ops::exp(b, x), w)));
  const Graph graph = *std::move(b).finish();
  const auto lowered = lower(graph, 4, PackedProducts(), ops::standard_ops());
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  std::vector<std::string> names;
  for (const Instruction& step : lowered->instructions) {
    names.emplace_back(step.op->name);
  }
  // Both products read one packed copy of the weights.
  EXPECT_EQ(names, (std::vector<std::string>{"pack", "matmul", "unpack", "exp",
                                             "matmul", "unpack", "add"}));
  const auto& steps = lowered->instructions;
  EXPECT_EQ(steps[0].inputs[0], lowered->states[0]);
  EXPECT_EQ(steps[1].inputs[1], steps[0].outputs[0]);
  EXPECT_EQ(steps[4].inputs[1], steps[0].outputs[0]);
  EXPECT_EQ(steps[4].after, (std::vector<int>{0, 3}));
  EXPECT_EQ(lowered->buffer(steps[0].outputs[0]).bytes, 8 * 6 * 4);
  EXPECT_EQ(lowered->buffer(steps[1].outputs[0]).bytes, 4 * 8 * 4);
  EXPECT_EQ(steps[2].inputs[0], steps[1].outputs[0]);
  EXPECT_EQ(lowered->buffer(steps[2].outputs[0]).bytes, 4 * 6 * 4);
  EXPECT_EQ(steps[6].inputs[0], steps[2].outputs[0]);
}

// A copy of the weights that lived from forward into backward would cost its
// memory for the whole step.
TEST(Lowering, PacksAgainInAnotherPhase) {
  Builder b;
  const ValueId x = b.input("x", kRow);
  const ValueId w = b.state("w", Role::parameter, {DType::f32, Shape{8, 6}});
  b.output(ops::matmul(b, x, w));
  b.set_phase(Phase::backward);
  b.output(ops::matmul(b, ops::exp(b, x), w));
  const Graph graph = *std::move(b).finish();
  const auto lowered = lower(graph, 4, PackedProducts(), ops::standard_ops());
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  EXPECT_EQ(
      std::count_if(
          lowered->instructions.begin(), lowered->instructions.end(),
          [](const Instruction& step) { return step.op->name == "pack"; }),
      2);
}

TEST(Layout, GapsAndOverlapsAreRefused) {
  EXPECT_TRUE(digits_of({{8, 6}, {4, 8}, {0}, {4}}));
  EXPECT_FALSE(digits_of({{8, 6}, {4, 9}, {0}, {4}}));
  EXPECT_FALSE(digits_of({{8, 6}, {4, 4}, {0}, {4}}));
  EXPECT_FALSE(digits_of({{8, 6}, {4, 8}, {2}, {4}}));
  EXPECT_FALSE(digits_of({{8, 6}, {4, 8, 1}, {0}, {4}}));
  EXPECT_FALSE(digits_of({{8, 0}, {4, 8}, {0}, {4}}));
  EXPECT_EQ((Layout{{7, 5}, {4, 8}, {0}, {4}}.elements()), 40);
}

TEST(Lowering, RefusesShapesPastAnyMemory) {
  Builder b;
  const ValueId x = b.input("x", {DType::f32, Shape{Dim::batch(), 1 << 30}});
  b.output(ops::exp(b, x));
  const Graph graph = *std::move(b).finish();
  const auto lowered =
      lower(graph, std::int64_t{1} << 40, AnyKernel(), ops::standard_ops());
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code, ErrorCode::bad_input);
}

TEST(NumericsKey, ChangesWithTheBatchAndNotWithTheRun) {
  const auto make = [](std::int64_t batch) {
    Builder b;
    const ValueId x = b.input("x", kRow);
    b.output(ops::exp(b, x));
    const Graph graph = *std::move(b).finish();
    return numerics_key(*lower(graph, batch, AnyKernel(), ops::standard_ops()));
  };
  EXPECT_EQ(make(4), make(4));
  EXPECT_NE(make(4), make(5));
}

}  // namespace
}  // namespace plimsoll::graph
