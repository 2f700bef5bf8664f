// CUDA's catalogue as plain values: no GPU and no CUDA needed.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "ops/all_records.h"
#include "ops/cuda_kernels.h"
#include "ops/harness.h"
#include "ops/in_dtype.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {
namespace {

DeviceProfile profile() {
  DeviceProfile gpu;
  gpu.kind = "cuda";
  gpu.f32_flops_per_second = 50e12;
  gpu.f64_flops_per_second = 30e12;
  gpu.tf32_flops_per_second = 400e12;
  gpu.bf16_flops_per_second = 700e12;
  gpu.f16_flops_per_second = 700e12;
  gpu.launch_seconds = 2e-6;
  gpu.memory_bytes_per_second = 4e12;
  return gpu;
}

Result<cuda::OpCode> code_in(const OpRecord& record, DType dtype,
                             CudaSettings settings = {}) {
  PLIMSOLL_ASSIGN(const TypedRecord typed, in_dtype(record, dtype));
  return CudaCatalog(profile(), settings).code(typed.query());
}

const OpRecord& record_named(const std::vector<OpRecord>& records,
                             std::string_view name) {
  for (const OpRecord& record : records) {
    if (record.name == name) return record;
  }
  ADD_FAILURE() << "no record " << name;
  return records.front();
}

TEST(CudaCatalog, EveryOpHasCodeInF32) {
  std::set<std::string_view> with_code;
  for (const OpRecord& record : all_records()) {
    const auto code = code_in(record, DType::f32);
    if (!code) continue;
    with_code.insert(record.op->name);
    EXPECT_FALSE(code->name.empty()) << record.name;
    EXPECT_FALSE(code->stages.empty()) << record.name;
  }
  for (const graph::OpDef* op : all_ops()) {
    // A view is its input's bytes: nothing runs.
    if (op->is_view) continue;
    EXPECT_TRUE(with_code.contains(op->name)) << op->name << " has none";
  }
}

TEST(CudaCatalog, EveryFloatingDtypeThatAnOpTakesHasCode) {
  for (const OpRecord& record : all_records()) {
    for (const DType dtype : {DType::f64, DType::bf16, DType::f16}) {
      const auto typed = in_dtype(record, dtype);
      if (!typed) continue;  // the op's own rule
      const auto code = CudaCatalog(profile(), {}).code(typed->query());
      EXPECT_TRUE(code) << record.name << " in " << name_of(dtype);
    }
  }
}

TEST(CudaCatalog, ACandidateHasTheCodesNameAndScratch) {
  for (const OpRecord& record : all_records()) {
    const auto typed = in_dtype(record, DType::f32);
    ASSERT_TRUE(typed) << record.name;
    const CudaCatalog catalog(profile(), {});
    const auto code = catalog.code(typed->query());
    const auto offered = catalog.candidates(typed->query());
    ASSERT_TRUE(code && offered) << record.name;
    ASSERT_EQ(offered->size(), 1u) << record.name;
    EXPECT_EQ(offered->front().name, code->name);
    EXPECT_EQ(offered->front().scratch_bytes, code->scratch_bytes);
    EXPECT_GT(offered->front().seconds, 0);
    EXPECT_LT(offered->front().seconds, 1);
  }
}

TEST(CudaCatalog, RatesThatAreNotKnownGiveAFiniteEstimate) {
  const auto records = all_records();
  const auto typed =
      in_dtype(record_named(records, "matmul_70x530x140"), DType::f32);
  ASSERT_TRUE(typed);
  const auto offered = CudaCatalog({}, {}).candidates(typed->query());
  ASSERT_TRUE(offered);
  EXPECT_EQ(offered->front().seconds, 0);
}

TEST(CudaCatalog, AnUnsupportedDtypeIsRefusedByName) {
  const std::set<std::string_view> floating_only = {
      "add",
      "relu",
      "reduce_sum",
      "reduce_max",
      "softmax",
      "softmax_cross_entropy",
      "sparse_softmax_cross_entropy",
      "dropout",
      "argmax_equals",
      "divide_by_count"};
  std::set<std::string_view> refused;
  for (const OpRecord& record : all_records()) {
    if (!floating_only.contains(record.op->name)) continue;
    if (!has_other_forms(record)) continue;
    const auto code = code_in(record, DType::i16);
    ASSERT_FALSE(code) << record.name << " runs in i16";
    EXPECT_EQ(code.error().code, ErrorCode::unsupported) << record.name;
    const std::string start = "no kernel for " + std::string(record.op->name);
    EXPECT_TRUE(code.error().message.starts_with(start + "(i16"))
        << code.error().message;
    EXPECT_TRUE(code.error().message.ends_with(" on cuda"))
        << code.error().message;
    refused.insert(record.op->name);
  }
  EXPECT_EQ(refused, floating_only);
}

TEST(CudaCatalog, OnlyLargeProductsAreTheLibrarys) {
  const auto records = all_records();
  const auto& small = record_named(records, "matmul_32x100x10");
  const auto& large = record_named(records, "matmul_260x140x500_ta_tb");
  const auto own = code_in(small, DType::f32);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->name, "matmul:cuda:warp");
  EXPECT_TRUE(std::holds_alternative<cuda::Function>(own->stages[0]));
  EXPECT_EQ(own->scratch_bytes, 0);
  const auto library = code_in(large, DType::f32);
  ASSERT_TRUE(library);
  EXPECT_EQ(library->name, "matmul:cublaslt");
  const auto* product = std::get_if<cuda::Product>(&library->stages[0]);
  ASSERT_NE(product, nullptr);
  EXPECT_EQ(library->scratch_bytes, product->workspace_bytes);
  cuda::Product wanted;
  wanted.m = 260;
  wanted.n = 500;
  wanted.k = 140;
  wanted.transpose_a = true;
  wanted.transpose_b = true;
  EXPECT_EQ(*product, wanted);
}

// The library has none for some of these in 16 bits.
TEST(CudaCatalog, AMatrixTimesAVectorIsOurs) {
  const auto records = all_records();
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    for (const auto& [record, name] :
         {std::pair{"matmul_by_vector_72_bias", "matmul:cuda:rows"},
          std::pair{"matmul_by_vector_72_turned_bias_relu",
                    "matmul:cuda:columns"},
          std::pair{"matmul_of_vector_65_bias_relu", "matmul:cuda:columns"},
          std::pair{"matmul_of_vector_65_turned_bias", "matmul:cuda:rows"}}) {
      EXPECT_EQ(code_in(record_named(records, record), dtype)->name, name);
    }
  }
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const auto& longer =
        record_named(records, "matmul_by_long_vector_" +
                                  std::string(name_of(dtype)) + "_to_f32");
    EXPECT_EQ(code_in(longer, DType::f32)->name, "matmul:cuda:rows");
  }
}

// The library has slow ones alone.
TEST(CudaCatalog, NarrowProductsOverLongSumsAreOurs) {
  const auto records = all_records();
  for (const char* name :
       {"matmul_narrow_9x8200x10_to_f32", "matmul_narrow_24x8192x7_to_f32"}) {
    EXPECT_EQ(code_in(record_named(records, name), DType::f32)->name,
              "matmul:cuda:skinny");
  }
  EXPECT_EQ(
      code_in(record_named(records, "matmul_narrow_7x4500x10"), DType::f32)
          ->name,
      "matmul:cublaslt");
}

TEST(CudaCatalog, Tf32ChangesTheNameOfLargeF32ProductsOnly) {
  const auto records = all_records();
  const auto& large = record_named(records, "matmul_260x140x500");
  const auto& small = record_named(records, "matmul_1x1x1");
  const CudaSettings tf32{.tf32 = true};
  EXPECT_EQ(code_in(large, DType::f32, tf32)->name, "matmul:cublaslt:tf32");
  EXPECT_EQ(code_in(large, DType::f64, tf32)->name, "matmul:cublaslt");
  EXPECT_EQ(code_in(large, DType::bf16, tf32)->name, "matmul:cublaslt");
  EXPECT_EQ(code_in(small, DType::f32, tf32)->name, "matmul:cuda:thread");
}

TEST(CudaCatalog, LargeF64ProductsHaveTheirEpilogueApart) {
  OpRecord record = record_named(all_records(), "matmul_260x140x500");
  record.inputs.push_back({DType::f32, {500}});
  record.attrs.set("activation", std::string("relu"));
  const auto narrow = code_in(record, DType::f32);
  const auto wide = code_in(record, DType::f64);
  ASSERT_TRUE(narrow && wide);
  ASSERT_EQ(narrow->stages.size(), 1u);
  EXPECT_TRUE(std::get<cuda::Product>(narrow->stages[0]).relu);
  ASSERT_EQ(wide->stages.size(), 2u);
  EXPECT_FALSE(std::get<cuda::Product>(wide->stages[0]).bias);
  EXPECT_FALSE(std::get<cuda::Product>(wide->stages[0]).relu);
  const auto& epilogue = std::get<cuda::Function>(wide->stages[1]);
  EXPECT_NE(epilogue.body.find("in2[o % 500]"), std::string::npos);
  EXPECT_NE(epilogue.body.find("e_relu"), std::string::npos);
}

TEST(CudaCatalog, MoreBatchesThanTheLibraryCountsAreRefusedByName) {
  OpRecord record = record_named(all_records(), "matmul_batches");
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  record.inputs = {{DType::f32, {most, 2, 3}}, {DType::f32, {most, 3, 2}}};
  EXPECT_TRUE(code_in(record, DType::f32));
  record.inputs = {{DType::f32, {most + 1, 2, 3}},
                   {DType::f32, {most + 1, 3, 2}}};
  const auto refused = code_in(record, DType::f32);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().message.find("matmul of 2147483648 batches"),
            std::string::npos)
      << refused.error().message;
}

TEST(CudaCatalog, LargeReductionsGoThroughScratch) {
  const auto records = all_records();
  const auto code =
      code_in(record_named(records, "reduce_sum_parts_all"), DType::bf16);
  ASSERT_TRUE(code);
  EXPECT_EQ(code->name, "reduce_sum:cuda:rows=block,width=1,parts=25");
  EXPECT_EQ(code->stages.size(), 2u);
  EXPECT_EQ(code->scratch_bytes, 25 * 4);  // summed in f32
}

std::size_t count_of(const std::string& text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

TEST(CudaSource, EqualFunctionsAreWrittenOnce) {
  const cuda::Function add{
      "  ADD\n", {DType::f32, DType::f32}, {DType::f32}, {}, 1, 0};
  cuda::Function wide = add;
  wide.inputs = {DType::f64, DType::f64};
  wide.outputs = {DType::f64};
  const CudaCall first{.function = &add, .inputs = {0, 1}, .outputs = {2}};
  CudaCall beside = first;
  beside.outputs = {3};
  beside.first_block = 1;
  beside.blocks = 4;
  const CudaCall next{.function = &wide,
                      .inputs = {2, 3},
                      .outputs = {4},
                      .scratch = 5,
                      .phase = 1};
  // In whatever order they come.
  const std::string source = cuda_kernel_source({next, first, beside}, 6);
  EXPECT_EQ(count_of(source, "  ADD\n"), 2u);
  EXPECT_EQ(count_of(source,
                     "(const f32* in0, const f32* in1, f32* out0, "
                     "unsigned char* scratch, int block, int blocks)"),
            1u);
  const std::string kernel = source.substr(source.find("extern \"C\""));
  EXPECT_EQ(count_of(kernel, "void* p"), 6u);
  EXPECT_EQ(count_of(kernel, "__syncthreads"), 1u);
  EXPECT_LT(kernel.find("(const f32*)p0, (const f32*)p1, (f32*)p2, "
                        "(unsigned char*)0, block - 0, 1)"),
            kernel.find("__syncthreads"));
  EXPECT_LT(kernel.find("(f32*)p3, (unsigned char*)0, block - 1, 4)"),
            kernel.find("__syncthreads"));
  EXPECT_GT(kernel.find("(f64*)p4, (unsigned char*)p5, block - 0, 1)"),
            kernel.find("__syncthreads"));
}

}  // namespace
}  // namespace plimsoll::ops::testing
