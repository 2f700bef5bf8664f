// What records do not reach: NaN among numbers, refusals, batches.
#include "ops/indexing/indexing.h"

#include <gtest/gtest.h>

#include <limits>

#include "ops/resize/resize.h"
#include "ops/run_op.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<RefTensor> run(const graph::OpDef& op, const graph::Attrs& attrs,
                           const std::vector<RefTensor>& inputs) {
  ComputeThreads threads(1);
  auto outputs = run_op(op, attrs, inputs, threads);
  if (outputs) return *std::move(outputs);
  ADD_FAILURE() << outputs.error().message;
  return {};
}

TEST(Indexing, TheFirstNaNIsTheLargest) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const RefTensor rows =
        tensor_of(dtype, {4, 4},
                  {1, kInfinity, kNaN, kNaN, kNaN, 5, 6, 7,  //
                   -0.0, 0, -1, -0.0, -kInfinity, -2, -3, -kInfinity});
    for (const auto& [axis, want] :
         {std::pair{1, std::vector<double>{2, 0, 0, 1}},
          std::pair{0, std::vector<double>{1, 0, 0, 0}}}) {
      const auto got = run(argmax_op(), {{"axis", std::int64_t{axis}}}, {rows});
      ASSERT_EQ(got.size(), 1u);
      EXPECT_EQ(got[0].values, want) << name_of(dtype) << ", axis " << axis;
    }
    const auto best = run(topk_op(), {{"k", std::int64_t{3}}}, {rows});
    ASSERT_EQ(best.size(), 2u);
    EXPECT_EQ(best[1].values,
              (std::vector<double>{2, 3, 1, 0, 3, 2, 0, 1, 3, 1, 2, 0}))
        << name_of(dtype);
  }
}

TEST(Indexing, ANaNFarBackIsFound) {
  std::vector<double> values(1000, 1.0);
  values[700] = 2;
  values[901] = kNaN;
  values[950] = kNaN;
  const auto got = run(argmax_op(), {{"axis", std::int64_t{0}}},
                       {tensor_of(DType::f32, {1000}, values)});
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].values, std::vector<double>{901});
}

// 1 + 2^-24 is 1 in f32, and so on: the order shows.
TEST(Indexing, ScatterAddsInTheOrderOfIndices) {
  const double tiny = 0x1p-24;
  const RefTensor indices = tensor_of(DType::i32, {4}, {0, 1, 0, 1});
  const auto got =
      run(scatter_add_op(),
          {{"axis", std::int64_t{0}}, {"extent", std::int64_t{2}}},
          {tensor_of(DType::f32, {4}, {1, tiny, tiny, 1}), indices});
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].values, (std::vector<double>{1, 1}));
  const auto other =
      run(scatter_add_op(),
          {{"axis", std::int64_t{0}}, {"extent", std::int64_t{1}}},
          {tensor_of(DType::f32, {3}, {tiny, tiny, 1}),
           tensor_of(DType::i32, {3}, {0, 0, 0})});
  ASSERT_EQ(other.size(), 1u);
  EXPECT_EQ(other[0].values, std::vector<double>{1 + 2 * tiny});
}

TEST(Indexing, BatchesGoThrough) {
  const Dim batch = Dim::batch();
  Builder builder;
  const ValueId table = builder.input("table", {DType::f32, {50, 8}});
  const ValueId words = builder.input("words", {DType::i32, {batch, 6}});
  const ValueId found = gather(builder, table, words);
  EXPECT_EQ(builder.type(found).shape, (Shape{batch, 6, 8}));
  const ValueId back = scatter_add(builder, found, words, 50);
  EXPECT_EQ(builder.type(back).shape, (Shape{50, 8}));
  EXPECT_EQ(builder.type(argmax(builder, found, 1, true)).shape,
            (Shape{batch, 1, 8}));
  EXPECT_EQ(builder.type(topk(builder, found, 3).indices),
            (graph::TensorType{DType::i64, {batch, 6, 3}}));
  EXPECT_EQ(builder.type(one_hot(builder, words, 50, DType::bf16)),
            (graph::TensorType{DType::bf16, {batch, 6, 50}}));
  EXPECT_TRUE(builder.ok());
}

TEST(Indexing, MistakesAreNamed) {
  const auto refused = [](auto make, std::string_view words) {
    Builder builder;
    const ValueId a = builder.input("a", {DType::f32, {Dim::batch(), 3}});
    const ValueId i = builder.input("i", {DType::i32, {Dim::batch()}});
    const ValueId u = builder.input("u", {DType::u64, {4}});
    make(builder, a, i, u);
    ASSERT_FALSE(builder.ok()) << words;
    const std::string& message = builder.status().error().message;
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  using V = ValueId;
  refused([](Builder& g, V a, V i, V) { gather(g, a, i, 0); },
          "gather(f32[B, 3], i32[B], axis 0): the axis is the batch");
  refused([](Builder& g, V a, V i, V) { gather(g, a, i, 1); },
          "table and indices cannot both have the batch");
  refused([](Builder& g, V a, V, V u) { gather(g, a, u, 1); },
          "indices of an integer type up to i64");
  refused([](Builder& g, V a, V i, V) { gather(g, a, i, 2); },
          "there is no such axis");
  refused([](Builder& g, V a, V i, V) { scatter_add(g, a, i, 5, 1); },
          "values must have the indices' shape");
  refused([](Builder& g, V a, V, V) { argmax(g, a, 0); },
          "argmax(f32[B, 3]): the axis is the batch");
  refused([](Builder& g, V a, V, V) { topk(g, a, 4); },
          "k is 4, but must be 1 to 3");
  refused([](Builder& g, V a, V, V) { one_hot(g, a, 4, DType::f32); },
          "one_hot(f32[B, 3]): takes indices");
  refused(
      [](Builder& g, V a, V, V) { resize(g, a, 4, 4, ResizeMethod::nearest); },
      "resize of f32[B, 3]: takes images [B, H, W, C]");
}

}  // namespace
}  // namespace plimsoll::ops::testing
