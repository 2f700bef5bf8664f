// Losses and accuracies made of several ops, against values worked by hand.
#include "ops/loss/loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/cpu_kernels.h"
#include "ops/cuda_kernels.h"
#include "ops/registry.h"
#include "ops/run_op.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Builder;
using graph::ValueId;
using Helper = ValueId (*)(Builder&, ValueId, ValueId);

// The helper's result at B = 2, from a graph built with B unknown.
RefTensor run(Helper helper, const Shape& shape, std::vector<double> scores,
              std::vector<double> labels, DType dtype = DType::f64,
              bool sparse = false) {
  Builder builder;
  const auto x = builder.input("x", {dtype, shape});
  const graph::TensorType label_type =
      sparse ? graph::TensorType{DType::i32, {Dim::batch()}}
             : graph::TensorType{dtype, shape};
  const auto y = builder.input("y", label_type);
  const auto result = helper(builder, x, y);
  EXPECT_TRUE(builder.ok()) << builder.status().error().message;
  if (!builder.ok()) return {};
  EXPECT_EQ(builder.type(result).shape, Shape{Dim::batch()});
  const auto graph = std::move(builder).finish();
  ComputeThreads threads(1);
  const auto values = run_graph(
      *graph, 2,
      {tensor_of(dtype, shape.at(2), std::move(scores)),
       tensor_of(label_type.dtype, label_type.shape.at(2), std::move(labels))},
      threads);
  EXPECT_TRUE(values.ok()) << values.error().message;
  return values.ok() ? (*values)[result.pos()] : RefTensor();
}

const Shape kPairs{Dim::batch(), 2};
const Shape kSingles{Dim::batch(), 1};

void expect_near(const RefTensor& got, const std::vector<double>& want,
                 double tolerance) {
  ASSERT_EQ(got.values.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got.values[i], want[i], tolerance) << i;
  }
}

TEST(Loss, SquaredAndAbsoluteErrors) {
  expect_near(run(mean_squared_error, kPairs, {1, 2, 3, 4}, {1, 4, 0, 0}),
              {2, 12.5}, 1e-15);
  expect_near(run(mean_absolute_error, kPairs, {1, 2, 3, 4}, {1, 4, 0, 0}),
              {1, 3.5}, 1e-15);
}

TEST(Loss, BinaryCrossEntropy) {
  expect_near(run(binary_cross_entropy, kSingles, {0.25, 0.9}, {1, 0}),
              {-std::log(0.25), -std::log(0.1)}, 1e-14);
  // Certain and wrong: the clip keeps it finite.
  expect_near(run(binary_cross_entropy, kPairs, {0, 1, 1, 0}, {1, 0, 1, 0}),
              {-std::log(1e-7), -std::log1p(-1e-7)}, 1e-8);
  expect_near(
      run(binary_cross_entropy_logits, kPairs, {0, 2, -1e4, 1e4}, {1, 0, 1, 0}),
      {(std::log(2.0) + std::log1p(std::exp(2.0))) / 2, 1e4}, 1e-12);
}

TEST(Loss, BinaryAccuracyIsF32AndStrict) {
  const auto half =
      run(binary_accuracy, kPairs, {0.5, 0.6, 0.1, 0.7}, {1, 1, 0, 0});
  EXPECT_EQ(half.type.dtype, DType::f32);
  expect_near(half, {0.5, 0.5}, 0);
  expect_near(
      run(binary_accuracy_logits, kSingles, {0.1, 0.0}, {1, 0}, DType::f32),
      {1, 1}, 0);
}

TEST(Loss, CategoricalAccuracy) {
  const auto dense = run(categorical_accuracy, {Dim::batch(), 3},
                         {3, 3, 1, 0, 1, 2}, {1, 0, 0, 1, 0, 0});
  EXPECT_EQ(dense.type.dtype, DType::f32);
  expect_near(dense, {1, 0}, 0);
  expect_near(run(sparse_categorical_accuracy, {Dim::batch(), 3},
                  {3, 3, 1, 0, 1, 2}, {1, 2}, DType::f32, true),
              {0, 1}, 0);
}

// The difference to the largest logit is taken first: f32 keeps a loss of
// 1e-3 behind logits of 1e4.
TEST(Loss, LargeLogitsKeepSmallLosses) {
  const double gap = 6.875;
  const double want = std::log1p(std::exp(-gap));
  const auto loss =
      run(sparse_softmax_cross_entropy, kPairs,
          {10000, 10000 - gap, -10000, -10000 - gap}, {0, 0}, DType::f32, true);
  expect_near(loss, {want, want}, want * 1e-4);
}

TEST(Loss, ShapesThatDoNotFitAreNamed) {
  Builder builder;
  const auto x = builder.input("x", {DType::f32, {Dim::batch(), 3}});
  const auto y = builder.input("y", {DType::f32, {Dim::batch(), 4}});
  softmax_cross_entropy(builder, x, y);
  ASSERT_FALSE(builder.ok());
  const std::string message = builder.status().error().message;
  EXPECT_NE(message.find("f32[B, 3]"), std::string::npos) << message;
  EXPECT_NE(message.find("f32[B, 4]"), std::string::npos) << message;
}

TEST(Loss, ABiasIsAsLongAsTheClassesAndWide) {
  for (const auto& [dtype, classes, fits] :
       {std::tuple{DType::f32, 50, true}, std::tuple{DType::f32, 7, false},
        std::tuple{DType::bf16, 50, false}}) {
    Builder builder;
    const auto x = builder.input("x", {DType::bf16, {Dim::batch(), 7}});
    const auto weight = builder.input("weight", {DType::bf16, {7, 50}});
    const auto labels = builder.input("labels", {DType::i32, {Dim::batch()}});
    const auto bias = builder.input("bias", {dtype, {classes}});
    linear_cross_entropy(builder, x, weight, labels, false, bias);
    ASSERT_EQ(builder.ok(), fits);
    if (fits) continue;
    const std::string message = builder.status().error().message;
    EXPECT_NE(message.find("perhaps a bias [V]"), std::string::npos) << message;
  }
}

// Rows of a batch over 50,000 classes: what both devices hold of the logits.
TEST(Loss, LogitsOfManyClassesAreHeldInChunks) {
  constexpr std::int64_t kClasses = 50'000;
  ComputeThreads threads(2);
  const auto cpu = make_cpu_kernels(threads);
  const CudaCatalog cuda({}, {});
  const graph::OpDef& op = *find_op("linear_cross_entropy");
  for (const std::int64_t rows : {40, 1000, 8192}) {
    const graph::TypeList inputs = {{DType::f32, Shape{rows, 64}},
                                    {DType::f32, Shape{64, kClasses}},
                                    {DType::i32, Shape{rows}}};
    const graph::Attrs attrs;
    const auto outputs = op.infer(inputs, attrs);
    ASSERT_TRUE(outputs.ok());
    const graph::KernelQuery query{&op, inputs, *outputs, &attrs};
    const std::int64_t most =
        std::max<std::int64_t>(8 << 20, rows * kClasses * 4 / 16);
    threads.enter([&] {
      for (const graph::KernelCatalog* catalog :
           {static_cast<const graph::KernelCatalog*>(cpu.get()),
            static_cast<const graph::KernelCatalog*>(&cuda)}) {
        const auto offered = catalog->candidates(query);
        ASSERT_TRUE(offered.ok()) << offered.error().message;
        // The rest is what the products want for themselves.
        EXPECT_LE(offered->front().scratch_bytes, most + (20 << 20)) << rows;
      }
    });
  }
}

}  // namespace
}  // namespace plimsoll::ops::testing
