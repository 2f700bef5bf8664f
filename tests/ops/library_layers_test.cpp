// Which attention, normalization and pooling are the library's on CUDA, as
// plain values: no GPU needed.
#include <gtest/gtest.h>

#include "base/units.h"
#include "ops/all_records.h"
#include "ops/cuda_kernels.h"
#include "ops/in_dtype.h"
#include "ops/registry.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::TensorType;
using graph::TypeList;

cuda::OpCode code_of(std::string_view op, const TypeList& inputs,
                     const Attrs& attrs, const char* architecture = "sm_90",
                     bool library = true, bool wherever = false) {
  DeviceProfile profile;
  profile.instruction_set = architecture;
  const auto outputs = find_op(op)->infer(inputs, attrs);
  EXPECT_TRUE(outputs) << outputs.error().message;
  if (!outputs) return {};
  auto code = CudaCatalog(profile, {.library_layers = library,
                                    .library_wherever = wherever})
                  .code({find_op(op), inputs, *outputs, &attrs});
  EXPECT_TRUE(code) << code.error().message;
  return code ? *std::move(code) : cuda::OpCode();
}

const Attrs kCausal = {{"causal", true}};

struct Heads {
  std::int64_t batch = 16;
  std::int64_t length = 1024;
  std::int64_t heads = 12;
  std::int64_t key_heads = 12;
  std::int64_t width = 64;
  DType dtype = DType::bf16;
};

TypeList operands(const Heads& of, bool backward) {
  const TensorType q{of.dtype, {of.batch, of.length, of.heads, of.width}};
  const TensorType k{of.dtype, {of.batch, of.length, of.key_heads, of.width}};
  if (!backward) return {q, k, k};
  return {q, q, k, k, q, {DType::f32, {of.batch, of.heads, of.length}}};
}

cuda::OpCode attention_code(const Heads& of, bool backward) {
  return code_of(backward ? "attention_grad" : "attention",
                 operands(of, backward), kCausal);
}

TEST(LibraryLayers, LargeAttentionOfHalvesIsTheLibrarys) {
  const cuda::OpCode code = attention_code({}, false);
  EXPECT_EQ(code.name, "attention:cudnn:compiled");
  ASSERT_EQ(code.stages.size(), 1u);
  const auto& made = std::get<cuda::Attention>(code.stages[0]);
  EXPECT_FALSE(made.backward);
  EXPECT_EQ(made.dtype, DType::bf16);
  EXPECT_EQ(made.batch, 16);
  EXPECT_EQ(made.queries, 1024);
  EXPECT_EQ(made.keys, 1024);
  EXPECT_EQ(made.heads, 12);
  EXPECT_EQ(made.width, 64);
  EXPECT_DOUBLE_EQ(made.scale, 0.125);
  EXPECT_TRUE(made.causal);
  EXPECT_EQ(made.part_batch, 16);
  EXPECT_EQ(made.part_heads, 12);
  EXPECT_LE(made.workspace_bytes, code.scratch_bytes);
  EXPECT_EQ(attention_code({}, true).name, "attention_grad:cudnn:compiled");
}

TEST(LibraryLayers, WhatTheLibraryDoesNotTakeIsOurs) {
  const auto is_ours = [](const Heads& of) {
    return attention_code(of, false).name.find(kLayerLibrary) ==
           std::string::npos;
  };
  EXPECT_FALSE(is_ours({}));
  EXPECT_TRUE(is_ours({.dtype = DType::f32}));
  EXPECT_TRUE(is_ours({.dtype = DType::f64}));
  EXPECT_TRUE(is_ours({.width = 60}));
  EXPECT_TRUE(is_ours({.width = 136}));
  EXPECT_TRUE(is_ours({.batch = 1, .length = 128, .heads = 4, .key_heads = 4}));
  const TypeList plain = operands({}, false);
  TypeList masked = plain;
  masked.push_back({DType::bf16, {16, 1, 1, 1024}});
  const std::string_view ours = "attention:cuda:256x128:mma";
  EXPECT_EQ(code_of("attention", masked, {}).name, ours);
  EXPECT_EQ(code_of("attention", plain, {}, "sm_80").name, ours);
  EXPECT_EQ(code_of("attention", plain, {}, "sm_90", false).name, ours);
  TypeList fewer_keys = plain;
  fewer_keys[1].shape = fewer_keys[2].shape = {16, 512, 12, 64};
  EXPECT_EQ(code_of("attention", fewer_keys, {}).name,
            "attention:cudnn:compiled");
  EXPECT_EQ(code_of("attention", fewer_keys, kCausal).name, ours);
  fewer_keys[1].shape = fewer_keys[2].shape = {16, 60, 12, 64};
  EXPECT_EQ(code_of("attention", fewer_keys, {}).name, ours);
}

// Parts are whole examples or heads of one, keep a device busy, and make the
// room for slopes grow with the positions, not with their square or the batch.
TEST(LibraryLayers, BackwardGoesThroughTheHeadsInParts) {
  const auto part = [](const Heads& of) {
    const cuda::OpCode code = attention_code(of, true);
    const auto made = std::get<cuda::Attention>(code.stages.at(0));
    EXPECT_EQ(of.batch % made.part_batch, 0);
    EXPECT_EQ(of.heads % made.part_heads, 0);
    EXPECT_EQ(made.part_heads % (of.heads / of.key_heads), 0);
    EXPECT_TRUE(made.part_batch == 1 || made.part_heads == of.heads);
    EXPECT_GE(made.levels_offset_bytes, made.workspace_bytes);
    const std::int64_t heads = made.part_batch * made.part_heads;
    EXPECT_GE(made.workspace_bytes, heads * of.length * of.length * 2);
    EXPECT_GE(code.scratch_bytes,
              made.levels_offset_bytes + heads * of.length * 4);
    return std::pair(heads, code.scratch_bytes);
  };
  const auto most = [](const Heads& of) {
    std::int64_t operands = 0;
    for (const TensorType& type : ops::operands(of, true)) {
      operands += type.bytes();
    }
    for (const TensorType& type : ops::operands(of, false)) {
      operands += type.bytes();
    }
    return std::max(64 * kMiB, 2 * operands);
  };
  for (const std::int64_t batch : {1, 5, 16, 17, 61, 85, 97}) {
    const Heads of{.batch = batch};
    EXPECT_LE(part(of).second, most(of) + 4 * kMiB) << batch;
  }
  const auto [heads, bytes] = part({});
  EXPECT_EQ(heads, 96);
  EXPECT_LT(bytes, 200 * kMiB);
  EXPECT_EQ(part({.batch = 64}).second, bytes);
  EXPECT_EQ(part({.batch = 2,
                  .length = 4096,
                  .heads = 32,
                  .key_heads = 8,
                  .width = 128})
                .first,
            16);
  std::int64_t shorter = 0;
  for (const std::int64_t length : {1024, 2048, 4096, 8192}) {
    const std::int64_t longer =
        part({.length = length, .heads = 16, .key_heads = 16}).second;
    if (shorter > 0) {
      EXPECT_LE(longer, 2 * shorter + kMiB) << length;
    }
    shorter = longer;
  }
}

// One head's slopes would be 8 GiB, its operands are 72 MiB.
TEST(LibraryLayers, SlopesThatAreTooManyAreOurs) {
  const Heads of{.batch = 1, .length = 65536, .heads = 1, .key_heads = 1};
  EXPECT_EQ(attention_code(of, false).name, "attention:cudnn:compiled");
  EXPECT_EQ(attention_code(of, true).name, "attention_grad:cuda:256x128:mma");
}

// The records that test the library on a device do reach it.
TEST(LibraryLayers, RecordsAreTheLibrarys) {
  DeviceProfile profile;
  profile.instruction_set = "sm_90";
  const CudaCatalog catalog(profile, {.library_layers = true});
  int seen = 0;
  for (const auto& records :
       {testing::attention_records(), testing::normalization_records()}) {
    for (const testing::OpRecord& record : records) {
      if (record.name.find("_library") == std::string::npos) continue;
      const auto typed = testing::in_dtype(record, DType::bf16);
      ASSERT_TRUE(typed) << typed.error().message;
      const auto code = catalog.code(typed->query());
      ASSERT_TRUE(code) << code.error().message;
      EXPECT_TRUE(code->name.ends_with(kCompiledLayer)) << record.name;
      ++seen;
      if (!record.name.starts_with("attention_grad_library_some")) continue;
      const auto& made = std::get<cuda::Attention>(code->stages[0]);
      EXPECT_LT(made.part_batch * made.part_heads, made.batch * made.heads);
    }
  }
  EXPECT_EQ(seen, 18);
}

cuda::OpCode batch_norm_code(bool backward, DType dtype, DType parameters,
                             const Shape& x, Attrs attrs = {}) {
  attrs.set("epsilon", 1e-3);
  const TensorType image{dtype, x};
  const TensorType wide{DType::f32, {x.extent(-1)}};
  const TensorType gamma{parameters, {x.extent(-1)}};
  if (backward) {
    return code_of("batch_norm_grad", {image, image, gamma, wide, wide}, attrs);
  }
  return code_of("batch_norm", {image, gamma, gamma}, attrs);
}

TEST(LibraryLayers, LargeBatchesOfHalvesAreTheLibrarys) {
  const Shape x = {32, 56, 28, 64};
  const cuda::OpCode forward =
      batch_norm_code(false, DType::bf16, DType::f32, x);
  EXPECT_EQ(forward.name, "batch_norm:cudnn:compiled");
  ASSERT_EQ(forward.stages.size(), 2u);
  cuda::Normalization wanted;
  wanted.dtype = DType::bf16;
  wanted.x = {32, 56, 28, 64};
  wanted.epsilon = 1e-3;
  wanted.workspace_bytes = forward.scratch_bytes;
  EXPECT_EQ(std::get<cuda::Normalization>(forward.stages[0]), wanted);
  // The variance comes after it, from the deviation.
  const auto& body = std::get<cuda::Function>(forward.stages[1]).body;
  EXPECT_NE(body.find("out2[c]"), std::string::npos);
  const cuda::OpCode backward =
      batch_norm_code(true, DType::f16, DType::f32, {40000, 64});
  EXPECT_EQ(backward.name, "batch_norm_grad:cudnn:compiled");
  ASSERT_EQ(backward.stages.size(), 1u);
  wanted.backward = true;
  wanted.dtype = DType::f16;
  wanted.x = {40000, 1, 1, 64};
  EXPECT_EQ(std::get<cuda::Normalization>(backward.stages[0]), wanted);
}

TEST(LibraryLayers, OtherBatchesAreOurs) {
  const Shape x = {32, 56, 28, 64};
  for (const cuda::OpCode& code :
       {batch_norm_code(false, DType::f32, DType::f32, x),
        batch_norm_code(false, DType::bf16, DType::bf16, x),
        batch_norm_code(true, DType::bf16, DType::f32, {8, 56, 28, 64}),
        batch_norm_code(false, DType::bf16, DType::f32, {32, 56, 28, 62})}) {
    EXPECT_EQ(code.name.find(kLayerLibrary), std::string::npos) << code.name;
  }
}

cuda::OpCode row_norm_grad_code(std::string_view op, const Shape& x,
                                bool wherever) {
  const TensorType rows{DType::bf16, x};
  const TensorType statistic{DType::f32,
                             Shape({x.dims().begin(), x.dims().end() - 1})};
  TypeList inputs = {rows, rows, {DType::f32, {x.extent(-1)}}, statistic};
  if (op == "layer_norm_grad") inputs.push_back(statistic);
  return code_of(op, inputs, {{"epsilon", 1e-6}}, "sm_90", true, wherever);
}

TEST(LibraryLayers, BackThroughLongRowsIsTheLibrarys) {
  for (const std::int64_t length : {16384, 65536}) {
    EXPECT_EQ(row_norm_grad_code("rms_norm_grad", {256, length}, false).name,
              "rms_norm_grad:cudnn:compiled");
    EXPECT_EQ(row_norm_grad_code("layer_norm_grad", {256, length}, false).name,
              "layer_norm_grad:cudnn:compiled");
  }
}

TEST(LibraryLayers, OtherRowsAreOurs) {
  const TensorType rows{DType::bf16, {4096, 16384}};
  const TensorType row{DType::f32, {16384}};
  for (const cuda::OpCode& code :
       {row_norm_grad_code("rms_norm_grad", {8192, 8192}, false),
        row_norm_grad_code("layer_norm_grad", {8192, 8192}, false),
        row_norm_grad_code("layer_norm_grad", {4096, 24576}, false),
        row_norm_grad_code("layer_norm_grad", {255, 16384}, false),
        code_of("layer_norm", {rows, row, row}, {{"epsilon", 1e-6}}),
        code_of("rms_norm", {rows, row}, {{"epsilon", 1e-6}})}) {
    EXPECT_EQ(code.name.find(kLayerLibrary), std::string::npos) << code.name;
  }
}

TEST(LibraryLayers, RowsCanBeTheLibrarysToCompareThem) {
  const cuda::OpCode rms =
      row_norm_grad_code("rms_norm_grad", {8, 600, 4096}, true);
  EXPECT_EQ(rms.name, "rms_norm_grad:cudnn:compiled");
  ASSERT_EQ(rms.stages.size(), 1u);
  cuda::Normalization wanted;
  wanted.kind = cuda::Normalization::Kind::rms;
  wanted.backward = true;
  wanted.dtype = DType::bf16;
  wanted.x = {4800, 1, 1, 4096};
  wanted.epsilon = 1e-6;
  wanted.workspace_bytes = rms.scratch_bytes;
  EXPECT_EQ(std::get<cuda::Normalization>(rms.stages[0]), wanted);
  const cuda::OpCode layer =
      row_norm_grad_code("layer_norm_grad", {4096, 8192}, true);
  ASSERT_EQ(layer.stages.size(), 1u);
  EXPECT_EQ(std::get<cuda::Normalization>(layer.stages[0]).kind,
            cuda::Normalization::Kind::layer);
}

struct Pool {
  std::string op = "avg_pool2d_grad";
  std::int64_t window = 3;
  std::int64_t stride = 1;
  std::int64_t batch = 64;
  std::int64_t channels = 512;
  DType dtype = DType::bf16;
};

// Images of 20 x 20.
cuda::OpCode pool_code(const Pool& of) {
  const std::int64_t pad = of.window / 2;
  const Attrs attrs = {
      {"window", std::vector<std::int64_t>{of.window, of.window}},
      {"strides", std::vector<std::int64_t>{of.stride, of.stride}},
      {"padding", std::vector<std::int64_t>{pad, pad, pad, pad}},
      {"height", std::int64_t{20}},
      {"width", std::int64_t{20}}};
  const std::int64_t side = of.op.ends_with("_grad")
                                ? (20 + 2 * pad - of.window) / of.stride + 1
                                : 20;
  const Shape shape = {of.batch, side, side, of.channels};
  TypeList inputs = {{of.dtype, shape}};
  if (of.op == "max_pool2d_grad") inputs.push_back({DType::u8, shape});
  return code_of(of.op, inputs, attrs);
}

TEST(LibraryLayers, BackFromAveragesAtEveryPixelIsTheLibrarys) {
  const cuda::OpCode code = pool_code({.dtype = DType::f16});
  EXPECT_EQ(code.name, "avg_pool2d_grad:cudnn:compiled");
  ASSERT_EQ(code.stages.size(), 1u);
  cuda::AveragePoolGrad wanted;
  wanted.dtype = DType::f16;
  wanted.images = wanted.result = {64, 20, 20, 512};
  wanted.window = {3, 3};
  wanted.padding = {1, 1, 1, 1};
  wanted.workspace_bytes = code.scratch_bytes;
  EXPECT_EQ(std::get<cuda::AveragePoolGrad>(code.stages[0]), wanted);
}

TEST(LibraryLayers, OtherPoolingIsOurs) {
  for (const Pool& of :
       {Pool{.op = "avg_pool2d"}, Pool{.op = "max_pool2d"},
        Pool{.op = "max_pool2d_grad"}, Pool{.stride = 2, .batch = 256},
        Pool{.window = 5}, Pool{.window = 1, .batch = 1024}, Pool{.batch = 8},
        Pool{.channels = 516}, Pool{.dtype = DType::f32}}) {
    const cuda::OpCode code = pool_code(of);
    EXPECT_EQ(code.name.find(kLayerLibrary), std::string::npos) << code.name;
  }
}

// To compare both.
TEST(LibraryLayers, BenchmarksCanAskForTheLibraryEverywhere) {
  DeviceProfile profile;
  profile.instruction_set = "sm_90";
  const auto count = [&](bool wherever) {
    const CudaCatalog catalog(
        profile, {.library_layers = true, .library_wherever = wherever});
    int seen = 0;
    for (const auto& records :
         {testing::normalization_records(), testing::pooling_records()}) {
      for (const testing::OpRecord& record : records) {
        const auto typed = testing::in_dtype(record, DType::bf16);
        EXPECT_TRUE(typed) << typed.error().message;
        const auto code = catalog.code(typed->query());
        EXPECT_TRUE(code) << code.error().message;
        seen += code && code->name.ends_with(kCompiledLayer) ? 1 : 0;
      }
    }
    return seen;
  };
  EXPECT_EQ(count(false), 8);
  EXPECT_GE(count(true), 8 + 28);
}

// Another plan may have found that an engine is missing.
TEST(LibraryLayers, WhatAPlanChoseStaysWhenLaterPlansDoWithout) {
  DeviceProfile profile;
  profile.instruction_set = "sm_90";
  CudaCatalog catalog(profile, {.library_layers = true});
  const auto planned = [&] {
    graph::Instruction step;
    step.op = find_op("attention");
    step.attrs = kCausal;
    step.input_types = operands({}, false);
    step.output_types = *step.op->infer(step.input_types, step.attrs);
    step.kernel = catalog
                      .candidates({step.op, step.input_types, step.output_types,
                                   &step.attrs})
                      ->at(0);
    return step;
  };
  const graph::Instruction before = planned();
  EXPECT_TRUE(catalog.drop_library_layers());
  EXPECT_FALSE(catalog.drop_library_layers());
  const graph::Instruction after = planned();
  EXPECT_TRUE(uses_compiled_layer(before.kernel));
  EXPECT_FALSE(uses_compiled_layer(after.kernel));
  EXPECT_EQ(catalog.code(before)->name, before.kernel.name);
  EXPECT_EQ(catalog.code(after)->name, after.kernel.name);
}

TEST(LibraryLayers, OnlyJobsWithCompiledOnesPayForThem) {
  graph::KernelCandidate candidate;
  candidate.name = attention_code({}, false).name;
  EXPECT_TRUE(uses_layer_library(candidate));
  EXPECT_TRUE(uses_compiled_layer(candidate));
  candidate.name = "conv2d:cudnn:tf32";
  EXPECT_TRUE(uses_layer_library(candidate));
  EXPECT_FALSE(uses_compiled_layer(candidate));
  EXPECT_TRUE(uses_library_convolution(candidate));
  candidate.name = "attention:cuda:256x128:mma";
  EXPECT_FALSE(uses_layer_library(candidate));
}

}  // namespace
}  // namespace plimsoll::ops
