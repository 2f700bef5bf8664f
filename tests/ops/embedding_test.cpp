// Updates of rows against the dense gradient and its update, bit for bit.
#include "ops/embedding/embedding.h"

#include <gtest/gtest.h>

#include "ops/cpu_kernels.h"
#include "ops/indexing/indexing.h"
#include "ops/registry.h"
#include "ops/run_op.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::int64_t kRows = 9;
constexpr std::int64_t kWidth = 5;

std::vector<double> ramp(std::int64_t count, double step) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(step * static_cast<double>(i * 7 % 13 - 6));
  }
  return values;
}

TEST(EmbeddingUpdate, OfRowsIsTheDenseOneBitForBit) {
  Builder builder;
  const graph::TensorType table_type{DType::f32, Shape{kRows, kWidth}};
  const Shape picked{Dim::batch(), 2, kWidth};
  const ValueId table = builder.input("table", table_type);
  const ValueId dy = builder.input("dy", {DType::f32, picked});
  const ValueId rate = builder.input("rate", {DType::f32, Shape{}});
  const ValueId indices =
      builder.input("indices", {DType::i32, Shape{Dim::batch(), 2}});
  const ValueId dense = sgd(
      builder, table, scatter_add(builder, dy, indices, kRows, 0, false), rate);
  const auto updated =
      emit_update_rows(builder, update_form(UpdateRule::sgd),
                       {table, dy, {}, rate, {}, {}}, indices, {});
  ASSERT_TRUE(builder.ok()) << builder.status().error().message;
  const ValueId rows = updated[0];
  const auto graph = std::move(builder).finish();
  ComputeThreads threads(2);
  const auto values = run_graph(
      *graph, 6,
      {tensor_of(DType::f32, table_type.shape, ramp(kRows * kWidth, 0.37)),
       tensor_of(DType::f32, picked.at(6), ramp(12 * kWidth, 0.01)),
       tensor_of(DType::f32, Shape{}, {0.3}),
       tensor_of(DType::i32, Shape{6, 2},
                 {0, 8, 3, 3, 3, 0, -1, 5, 9, 3, 0, 7})},
      threads);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ((*values)[rows.pos()].values, (*values)[dense.pos()].values);
  EXPECT_NE((*values)[rows.pos()].values, (*values)[table.pos()].values);
}

TEST(EmbeddingUpdate, ScratchFollowsFromTheBatchAlone) {
  ComputeThreads threads(2);
  const auto factory = make_cpu_kernels(threads);
  const graph::OpDef& op = *find_op("sgd_rows");
  const auto scratch = [&](std::int64_t table_rows) {
    const graph::TypeList inputs = {{DType::f32, Shape{table_rows, 64}},
                                    {DType::f32, Shape{100, 64}},
                                    {DType::f32, Shape{}},
                                    {DType::i64, Shape{100}}};
    const auto outputs = op.infer(inputs, {});
    EXPECT_TRUE(outputs.ok());
    const graph::Attrs attrs;
    std::int64_t bytes = -1;
    threads.enter([&] {
      bytes = factory->candidates({&op, inputs, *outputs, &attrs})
                  ->front()
                  .scratch_bytes;
    });
    return bytes;
  };
  EXPECT_EQ(scratch(10), scratch(std::int64_t{1} << 33));
  EXPECT_LT(scratch(10), 10'000);
}

TEST(Embedding, RefusesWhatIsNoTableOrNoIndex) {
  const auto message = [](const graph::TensorType& table,
                          const graph::TensorType& indices) {
    Builder builder;
    embedding(builder, builder.input("table", table),
              builder.input("indices", indices));
    return builder.ok() ? "" : builder.status().error().message;
  };
  EXPECT_EQ(message({DType::f32, Shape{4}}, {DType::i32, Shape{Dim::batch()}}),
            "embedding(f32[4], i32[B]): expected a table [V, D] and indices "
            "[B, ...] of i32 or i64");
  EXPECT_EQ(
      message({DType::f32, Shape{4, 3}}, {DType::f32, Shape{Dim::batch()}}),
      "embedding(f32[4, 3], f32[B]): expected a table [V, D] and indices "
      "[B, ...] of i32 or i64");
}

}  // namespace
}  // namespace plimsoll::ops::testing
