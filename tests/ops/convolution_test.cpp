// What records cannot say of convolutions: padding, refusals, and what a
// transposed one is.
#include "ops/convolution/convolution.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/convolution/conv_shape.h"
#include "ops/cpu_kernels.h"
#include "ops/harness.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {
namespace {

using graph::Builder;
using graph::ValueId;

std::array<std::int64_t, 4> same(std::int64_t size, std::int64_t kernel,
                                 std::int64_t stride, std::int64_t dilation) {
  return same_padding({.strides = {stride, 1}, .dilations = {dilation, 1}},
                      size, 5, kernel, 1)
      .padding;
}

// As tf.nn.conv2d's "SAME": what is odd goes to the end.
TEST(Convolution, SamePaddingIsTensorFlows) {
  using Padding = std::array<std::int64_t, 4>;
  EXPECT_EQ(same(28, 3, 1, 1), (Padding{1, 1, 0, 0}));
  EXPECT_EQ(same(28, 3, 2, 1), (Padding{0, 1, 0, 0}));
  EXPECT_EQ(same(224, 7, 2, 1), (Padding{2, 3, 0, 0}));
  EXPECT_EQ(same(5, 2, 1, 1), (Padding{0, 1, 0, 0}));
  EXPECT_EQ(same(9, 3, 1, 4), (Padding{4, 4, 0, 0}));
  EXPECT_EQ(same(5, 1, 3, 1), (Padding{0, 0, 0, 0}));
}

TEST(Convolution, BatchStaysASymbol) {
  Builder builder;
  const ValueId x = builder.input("x", {DType::f32, {Dim::batch(), 28, 28, 3}});
  const ValueId w = builder.input("w", {DType::f32, {16, 3, 3, 3}});
  const Conv2dSettings settings =
      same_padding({.strides = {2, 2}}, 28, 28, 3, 3);
  const ValueId y = conv2d(builder, x, w, settings);
  ASSERT_TRUE(builder.ok()) << builder.status().error().message;
  EXPECT_EQ(builder.type(y).to_string(), "f32[B, 14, 14, 16]");
  const ValueId back = conv2d_transpose(builder, y, w, settings, 28, 28);
  ASSERT_TRUE(builder.ok()) << builder.status().error().message;
  EXPECT_EQ(builder.type(back).to_string(), "f32[B, 28, 28, 3]");
}

const OpRecord& record_named(const std::vector<OpRecord>& records,
                             std::string_view name) {
  for (const OpRecord& record : records) {
    if (record.name == name) return record;
  }
  ADD_FAILURE() << "no record " << name;
  return records.front();
}

// Offers of the CPU for one record in f32.
std::vector<graph::KernelCandidate> offers(const OpRecord& record) {
  const auto outputs = record.op->infer(record.inputs, record.attrs);
  ComputeThreads threads(2);
  const auto factory = make_cpu_kernels(threads);
  std::vector<graph::KernelCandidate> offered;
  threads.enter([&] {
    const auto found = factory->candidates(
        {record.op, record.inputs, *outputs, &record.attrs});
    if (found) offered = *found;
  });
  return offered;
}

std::vector<graph::KernelCandidate> offers(std::string_view name) {
  const auto records = convolution_records();
  return offers(record_named(records, name));
}

// Weights are packed by the plan, once, and not inside of each launch.
TEST(Convolution, TheLibraryWantsWeightsPacked) {
  for (const char* name :
       {"conv2d_blocks", "conv2d_data_grad_blocks", "conv2d_blocks_groups"}) {
    const auto offered = offers(name);
    const auto library =
        std::find_if(offered.begin(), offered.end(), [](const auto& candidate) {
          return candidate.name.find(":onednn:") != std::string::npos;
        });
    if (library == offered.end()) GTEST_SKIP() << "oneDNN has none here";
    ASSERT_EQ(library->input_layouts.size(), 2u) << name;
    EXPECT_FALSE(library->input_layouts[0].is_packed()) << name;
    EXPECT_TRUE(library->input_layouts[1].is_packed()) << name;
    EXPECT_NE(library->name.find(":t2"), std::string::npos) << library->name;
  }
  for (const graph::KernelCandidate& one :
       offers("conv2d_weight_grad_blocks")) {
    if (one.name.find(":onednn:") == std::string::npos) continue;
    ASSERT_EQ(one.output_layouts.size(), 1u);
    EXPECT_TRUE(one.output_layouts[0].is_packed());
  }
}

// Those that allocate in every launch stay out: our own do it as well.
TEST(Convolution, NoImplementationThatAllocatesIsOffered) {
  for (const OpRecord& record : convolution_records()) {
    const auto offered = offers(record.name);
    EXPECT_FALSE(offered.empty()) << record.name;
    for (const graph::KernelCandidate& one : offered) {
      EXPECT_EQ(one.name.find(":ref"), std::string::npos) << one.name;
      EXPECT_EQ(one.name.find(":gemm"), std::string::npos)
          << one.name << " at " << record.name;
    }
  }
  // Over whole images the library has its inner product, which does.
  OpRecord whole;
  whole.op = find_op("conv2d");
  for (const DType dtype : {DType::f32, DType::bf16}) {
    whole.inputs = {{dtype, {8, 7, 7, 64}}, {dtype, {128, 7, 7, 64}}};
    for (const graph::KernelCandidate& one : offers(whole)) {
      EXPECT_EQ(one.name.find(":ip:"), std::string::npos) << one.name;
    }
  }
}

std::string refusal(const std::string& op, const graph::TypeList& inputs,
                    const graph::Attrs& attrs) {
  const auto types = find_op(op)->infer(inputs, attrs);
  return types ? "taken" : types.error().message;
}

TEST(Convolution, MistakesAreNamed) {
  const graph::TensorType image{DType::f32, {2, 5, 6, 4}};
  const graph::TensorType kernel{DType::f32, {8, 3, 3, 4}};
  EXPECT_EQ(refusal("conv2d", {image, kernel}, {}), "taken");
  EXPECT_EQ(refusal("conv2d", {image}, {}),
            "conv2d(f32[2, 5, 6, 4]): takes an image, a kernel and at most a "
            "bias");
  EXPECT_EQ(refusal("conv2d", {image, {DType::f32, {8, 3, 3, 3}}}, {}),
            "conv2d(f32[2, 5, 6, 4], f32[8, 3, 3, 3]): the kernel has 3 "
            "channels a group where the image has 4");
  EXPECT_EQ(refusal("conv2d", {image, {DType::f32, {8, 6, 3, 4}}}, {}),
            "conv2d(f32[2, 5, 6, 4], f32[8, 6, 3, 4]): the kernel reaches "
            "over 6 rows where the padded image has 5");
  EXPECT_EQ(refusal("conv2d", {image, {DType::f64, {8, 3, 3, 4}}}, {}),
            "conv2d(f32[2, 5, 6, 4], f64[8, 3, 3, 4]): operands must share "
            "one floating dtype");
  EXPECT_EQ(refusal("conv2d", {image, kernel}, {{"groups", std::int64_t{3}}}),
            "conv2d(f32[2, 5, 6, 4], f32[8, 3, 3, 4]): 3 groups must divide "
            "the 4 channels and the 8 filters");
  EXPECT_EQ(refusal("conv2d", {image, kernel},
                    {{"strides", std::vector<std::int64_t>{0, 1}}}),
            "conv2d(f32[2, 5, 6, 4], f32[8, 3, 3, 4]): `strides` must be 2 "
            "numbers from 1 to 16777216");
  EXPECT_EQ(refusal("conv2d", {image, kernel, {DType::f32, {4}}}, {}),
            "conv2d(f32[2, 5, 6, 4], f32[8, 3, 3, 4], f32[4]): the bias must "
            "be [8]");
  EXPECT_EQ(refusal("conv2d_data_grad", {{DType::f32, {2, 5, 6, 8}}, kernel},
                    {{"input_shape", image.shape}}),
            "conv2d_data_grad(f32[2, 5, 6, 8], f32[8, 3, 3, 4]): the gradient "
            "must be [2, 3, 4, 8]: [2, 5, 6, 4] through [8, 3, 3, 4] is that");
}

}  // namespace
}  // namespace plimsoll::ops::testing
