// What records do not reach: ties, NaN, refusals, batches, whole images.
#include "ops/pooling/pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/autodiff.h"
#include "ops/all_records.h"
#include "ops/cpu_kernels.h"
#include "ops/harness.h"
#include "ops/registry.h"
#include "ops/run_op.h"
#include "ops/standard_ops.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Builder;
using graph::ValueId;
using Numbers = std::vector<std::int64_t>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

graph::Attrs attrs_of(Numbers window, Numbers strides, Numbers padding) {
  return {{"window", std::move(window)},
          {"strides", std::move(strides)},
          {"padding", std::move(padding)}};
}

std::vector<RefTensor> run(std::string_view op, const graph::Attrs& attrs,
                           const std::vector<RefTensor>& inputs) {
  ComputeThreads threads(1);
  auto outputs = run_op(*find_op(op), attrs, inputs, threads);
  if (outputs) return *std::move(outputs);
  ADD_FAILURE() << outputs.error().message;
  return {};
}

TEST(Pooling, TheFirstOfTheLargestWins) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    // Two windows: all equal, and the largest twice.
    const auto got = run("max_pool2d", attrs_of({2, 2}, {2, 2}, {0, 0, 0, 0}),
                         {tensor_of(dtype, {1, 2, 4, 1},
                                    {3, 3, -1, 0,  //
                                     3, 3, 7, 7})});
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got[0].values, (std::vector<double>{3, 7})) << name_of(dtype);
    EXPECT_EQ(got[1].values, (std::vector<double>{0, 2})) << name_of(dtype);
  }
}

TEST(Pooling, TheFirstNaNWinsAndPaddingNever) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const auto got = run("max_pool2d", attrs_of({2, 2}, {2, 2}, {0, 0, 1, 1}),
                         {tensor_of(dtype, {1, 2, 4, 1},
                                    {-kInfinity, kInfinity, kNaN, -5,  //
                                     -kInfinity, kNaN, kNaN, -6})});
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got[0].values[0], -kInfinity);
    EXPECT_TRUE(std::isnan(got[0].values[1]));
    EXPECT_EQ(got[0].values[2], -5);
    EXPECT_EQ(got[1].values, (std::vector<double>{1, 1, 0})) << name_of(dtype);
  }
}

TEST(Pooling, PaddingIsNotCounted) {
  const auto got = run("avg_pool2d", attrs_of({2, 2}, {2, 2}, {1, 1, 1, 1}),
                       {tensor_of(DType::f32, {1, 2, 2, 1}, {1, 2, 3, 4})});
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].values, (std::vector<double>{1, 2, 3, 4}));
}

TEST(Pooling, SamePaddingIsThatOfKeras) {
  const auto padding = [](std::int64_t window, std::int64_t stride,
                          std::int64_t height, std::int64_t width) {
    return same_pool_padding({{window, window}, {stride, stride}}, height,
                             width)
        .padding;
  };
  using Padding = std::array<std::int64_t, 4>;
  EXPECT_EQ(padding(2, 2, 7, 8), (Padding{0, 1, 0, 0}));
  EXPECT_EQ(padding(3, 2, 8, 7), (Padding{0, 1, 1, 1}));
  EXPECT_EQ(padding(3, 1, 5, 5), (Padding{1, 1, 1, 1}));
  EXPECT_EQ(padding(2, 3, 7, 9), (Padding{0, 1, 0, 0}));
  EXPECT_EQ(padding(1, 4, 9, 9), (Padding{0, 0, 0, 0}));
}

TEST(Pooling, MistakesAreNamed) {
  const auto refusal = [](graph::TensorType type,
                          const Pool2dSettings& settings) {
    Builder builder;
    max_pool2d(builder, builder.input("x", std::move(type)), settings);
    return builder.ok() ? std::string() : builder.status().error().message;
  };
  const graph::TensorType images = {DType::f32, {Dim::batch(), 6, 5, 3}};
  EXPECT_EQ(refusal(images, {}), "");
  EXPECT_NE(refusal({DType::f32, {Dim::batch(), 6, 5}}, {}).find("[B, 6, 5]"),
            std::string::npos);
  EXPECT_NE(refusal({DType::i32, {2, 6, 5, 3}}, {}).find("floating"),
            std::string::npos);
  EXPECT_NE(refusal(images, {{7, 2}, {1, 1}}).find("does not fit"),
            std::string::npos);
  EXPECT_NE(refusal(images, {{2, 2}, {0, 2}}).find("strides [0, 2]"),
            std::string::npos);
  EXPECT_NE(
      refusal(images, {{2, 2}, {2, 2}, {0, 2, 0, 0}}).find("padding alone"),
      std::string::npos);
  EXPECT_NE(refusal(images, {{2, 2}, {2, 2}, {0, 0, -1, 0}}).find("padding"),
            std::string::npos);
}

// The gradient of a sum of the pooled, for a batch of two.
std::vector<double> gradient_of(ValueId (*pool)(Builder&, ValueId),
                                std::vector<double> x, Shape shape) {
  Builder builder;
  std::vector<Dim> dims = shape.dims();
  dims[0] = Dim::batch();
  const ValueId images = builder.input("x", {DType::f32, Shape(dims)});
  const ValueId y = pool(builder, images);
  if (!builder.ok()) return {};
  EXPECT_EQ(builder.type(y).shape, (Shape{Dim::batch(), shape[3]}));
  const ValueId flow = builder.input("dy", builder.type(y));
  const auto made = graph::add_gradients(builder, y, flow, std::vector{images},
                                         standard_ops());
  EXPECT_TRUE(made) << made.error().message;
  const ValueId dx = (*made)[0];
  const auto graph = std::move(builder).finish();
  EXPECT_TRUE(graph) << graph.error().message;
  ComputeThreads threads(1);
  const std::int64_t batch = shape.extent(0);
  const auto values =
      run_graph(*graph, batch,
                {tensor_of(DType::f32, shape, std::move(x)),
                 tensor_of(DType::f32, {batch, shape[3]}, {10, 20, 30, 40})},
                threads);
  EXPECT_TRUE(values) << values.error().message;
  return (*values)[dx.pos()].values;
}

TEST(Pooling, WholeImages) {
  const std::vector<double> x = {1,  8,  5,  2,  5,  3,  0,  4,  //
                                 -1, -1, -2, -1, -3, -1, -4, -9};
  EXPECT_EQ(gradient_of(global_max_pool2d, x, {2, 2, 2, 2}),
            (std::vector<double>{0, 20, 10, 0, 0, 0, 0, 0,  //
                                 30, 40, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(gradient_of(global_avg_pool2d, x, {2, 2, 2, 2}),
            (std::vector<double>{2.5, 5, 2.5, 5, 2.5, 5, 2.5, 5,  //
                                 7.5, 10, 7.5, 10, 7.5, 10, 7.5, 10}));
}

}  // namespace
}  // namespace plimsoll::ops::testing
