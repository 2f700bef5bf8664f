// Which convolutions are the library's on CUDA, as plain values: no GPU needed.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "ops/all_records.h"
#include "ops/cuda_kernels.h"
#include "ops/in_dtype.h"

namespace plimsoll::ops::testing {
namespace {

// Of the record, or of so many of its images.
cuda::OpCode code_of(std::string_view name, DType dtype, bool tf32 = false,
                     std::int64_t images = 0) {
  for (OpRecord record : convolution_records()) {
    if (record.name != name) continue;
    if (images > 0) {
      const Shape& x = record.inputs[0].shape;
      record.inputs[0].shape = {images, x[1], x[2], x[3]};
    }
    const auto typed = in_dtype(record, dtype);
    if (!typed) break;
    auto code = CudaCatalog({}, {tf32}).code(typed->query());
    if (code) return *std::move(code);
  }
  ADD_FAILURE() << "no code of " << name;
  return {};
}

TEST(ConvolutionCuda, LargeHalvesAreTheLibrarys) {
  const cuda::OpCode code = code_of("conv2d_large_stride", DType::bf16);
  EXPECT_EQ(code.name, "conv2d:cudnn");
  ASSERT_EQ(code.stages.size(), 1u);
  const auto* made = std::get_if<cuda::Convolution>(&code.stages[0]);
  ASSERT_NE(made, nullptr);
  cuda::Convolution wanted;
  wanted.dtype = DType::bf16;
  wanted.x = {2, 18, 17, 32};
  wanted.w = {40, 3, 3, 32};
  wanted.y = {2, 9, 9, 40};
  wanted.strides = {2, 2};
  wanted.padding = {0, 1, 1, 1};
  wanted.workspace_bytes = code.scratch_bytes;
  EXPECT_EQ(*made, wanted);
  EXPECT_GT(code.scratch_bytes, 0);
}

TEST(ConvolutionCuda, OperandsAreWhereEachPassHasThem) {
  using Of = cuda::Operand::Of;
  const cuda::Operand first{Of::input, 0};
  const cuda::Operand second{Of::input, 1};
  const cuda::Operand result{Of::output, 0};
  const auto stage = [](const char* name) {
    return std::get<cuda::Convolution>(code_of(name, DType::f16).stages[0]);
  };
  const auto data = stage("conv2d_data_grad_large_stride");
  EXPECT_EQ(data.kind, cuda::Convolution::Kind::data_grad);
  EXPECT_EQ(data.y_at, first);
  EXPECT_EQ(data.w_at, second);
  EXPECT_EQ(data.x_at, result);
  const auto weights = stage("conv2d_weight_grad_large_stride");
  EXPECT_EQ(weights.kind, cuda::Convolution::Kind::weight_grad);
  EXPECT_EQ(weights.y_at, first);
  EXPECT_EQ(weights.x_at, second);
  EXPECT_EQ(weights.w_at, result);
}

// Into planned scratch behind the workspace, and from there to f32.
TEST(ConvolutionCuda, WeightGradientsInF32AreTheLibrarysRoundedOnes) {
  const char* const name = "conv2d_weight_grad_large_stride_bf16_to_f32";
  const cuda::OpCode code = code_of(name, DType::bf16);
  EXPECT_EQ(code.name, "conv2d_weight_grad:cudnn:rounded");
  ASSERT_EQ(code.stages.size(), 2u);
  const auto& made = std::get<cuda::Convolution>(code.stages[0]);
  EXPECT_EQ(made.dtype, DType::bf16);
  const cuda::Operand behind{cuda::Operand::Of::scratch, 0,
                             made.workspace_bytes};
  EXPECT_EQ(made.w_at, behind);
  EXPECT_GE(code.scratch_bytes, made.workspace_bytes + 40 * 3 * 3 * 32 * 2);
  const auto& body = std::get<cuda::Function>(code.stages[1]).body;
  EXPECT_NE(body.find(fmt::format("scratch + {}", made.workspace_bytes)),
            std::string::npos);
}

// Ours sum in f32 and write f32.
TEST(ConvolutionCuda, OurWeightGradientsInF32AreNotRounded) {
  for (const char* const name :
       {"conv2d_weight_grad_same_bf16_to_f32",
        "conv2d_weight_grad_wide_depthwise_stride_f16_to_f32"}) {
    EXPECT_FALSE(code_of(name, DType::bf16).name.ends_with(kRounded)) << name;
  }
}

TEST(ConvolutionCuda, BiasAndReluComeAfterTheLibrary) {
  const cuda::OpCode code =
      code_of("conv2d_large_pointwise_bias_relu", DType::f16);
  ASSERT_EQ(code.stages.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<cuda::Convolution>(code.stages[0]));
  const auto& body = std::get<cuda::Function>(code.stages[1]).body;
  EXPECT_NE(body.find("in2[o]"), std::string::npos);
  EXPECT_NE(body.find("e_relu"), std::string::npos);
}

TEST(ConvolutionCuda, SmallOnesDepthwiseAndF64AreOurs) {
  EXPECT_EQ(code_of("conv2d_same", DType::bf16).name, "conv2d:cuda");
  EXPECT_EQ(code_of("conv2d_wide_depthwise", DType::bf16).name,
            "conv2d:cuda:depthwise");
  EXPECT_EQ(code_of("conv2d_large_stride", DType::f64).name,
            "conv2d:cuda:tiles");
  EXPECT_EQ(code_of("conv2d_large_groups", DType::f64).name, "conv2d:cuda");
}

TEST(ConvolutionCuda, FullF32IsOursWhereTheLibraryIsSlow) {
  const char* const data = "conv2d_data_grad_large_stride";
  EXPECT_EQ(code_of(data, DType::f32).name, "conv2d_data_grad:cuda:tiles");
  EXPECT_EQ(code_of(data, DType::f32, true).name,
            "conv2d_data_grad:cudnn:tf32");
  EXPECT_EQ(code_of("conv2d_data_grad_large_colour", DType::f32).name,
            "conv2d_data_grad:cuda");
  EXPECT_EQ(code_of("conv2d_weight_grad_large_stride", DType::f32).name,
            "conv2d_weight_grad:cudnn");
}

TEST(ConvolutionCuda, OnlyJobsWithTheLibraryPayForIt) {
  graph::KernelCandidate candidate;
  candidate.name = code_of("conv2d_large_stride", DType::bf16).name;
  EXPECT_TRUE(uses_layer_library(candidate));
  EXPECT_FALSE(uses_product_library(candidate));
  candidate.name = code_of("conv2d_same", DType::bf16).name;
  EXPECT_FALSE(uses_layer_library(candidate));
}

// Channels that the library pads need room for a padded copy.
TEST(ConvolutionCuda, WorkspaceHoldsPaddedOperands) {
  const cuda::OpCode code =
      code_of("conv2d_large_colour", DType::bf16, false, 100);
  const auto& made = std::get<cuda::Convolution>(code.stages[0]);
  EXPECT_EQ(made.x[0], 100);
  EXPECT_GE(made.workspace_bytes, made.x[0] * made.x[1] * made.x[2] * 8 * 2);
}

}  // namespace
}  // namespace plimsoll::ops::testing
