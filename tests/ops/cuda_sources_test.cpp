// Functions of every record compile, for a new GPU and an old one, and keep
// what they work on in registers. Needs the CUDA module, no GPU.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <span>

#include "device/cuda_device.h"
#include "io/temporary_folder.h"
#include "ops/all_records.h"
#include "ops/cuda_harness.h"
#include "ops/cuda_kernels.h"
#include "ops/cuda_prelude.h"
#include "ops/in_dtype.h"
#include "ops/random_shapes/environment.h"
#include "ops/random_shapes/kinds.h"

namespace plimsoll::ops::testing {
namespace {

// Distinct functions of the records; and those that are handed numbers, if they
// are.
std::vector<cuda::Function> functions_of(
    const std::vector<TypedRecord>& records, const std::string& architecture) {
  std::vector<cuda::Function> functions;
  std::set<std::string> seen;
  DeviceProfile profile;
  profile.instruction_set = architecture;
  const CudaCatalog catalog(profile, {});
  const CudaCatalog late(profile, {.late_numbers = true});
  for (const TypedRecord& record : records) {
    for (const CudaCatalog* from : {&catalog, &late}) {
      const auto code = from->code(record.query());
      if (!code) {
        ADD_FAILURE() << record.op->name << " "
                      << graph::to_string(record.inputs) << " "
                      << record.attrs.to_string() << ": "
                      << code.error().message;
        continue;
      }
      for (const auto& stage : code->stages) {
        const auto* function = std::get_if<cuda::Function>(&stage);
        if (function == nullptr) continue;
        std::string key = function->body;
        for (const DType type : function->inputs) key += name_of(type);
        for (const DType type : function->outputs) key += name_of(type);
        if (seen.insert(key).second) functions.push_back(*function);
      }
    }
  }
  return functions;
}

// In all floating dtypes that the ops take.
std::vector<TypedRecord> typed_records(const Family& family) {
  std::vector<TypedRecord> all;
  for (const OpRecord& record : family.records()) {
    for (const DType dtype :
         {DType::f32, DType::f64, DType::bf16, DType::f16}) {
      auto typed = in_dtype(record, dtype);
      if (typed) all.push_back(*std::move(typed));
    }
  }
  return all;
}

// Many kernels in one program, run_0, run_1, ...: the prelude is read once.
std::string program_of(std::span<const cuda::Function> functions) {
  const std::size_t prelude = cuda_prelude().size();
  const std::string name = " run(";
  std::string program(cuda_prelude());
  for (std::size_t i = 0; i < functions.size(); ++i) {
    std::string kernel = kernel_of(functions[i], functions[i].inputs.size(),
                                   functions[i].outputs.size(), true)
                             .substr(prelude);
    kernel.replace(kernel.rfind(name), name.size(), fmt::format(" run_{}(", i));
    program += kernel;
  }
  return program;
}

constexpr std::size_t kTogether = 16;

void expect_compiled(CudaModule& module, const std::string& architecture,
                     std::span<const cuda::Function> functions) {
  for (std::size_t i = 0; i < functions.size(); i += kTogether) {
    const std::string program = program_of(
        functions.subspan(i, std::min(kTogether, functions.size() - i)));
    const auto compiled = module.compile(program, architecture, 1);
    ASSERT_TRUE(compiled) << architecture << ": " << compiled.error().message
                          << program.substr(cuda_prelude().size());
  }
}

class CudaSources : public ::testing::TestWithParam<Family> {};

TEST_P(CudaSources, Compile) {
  const auto module = open_cuda_module();
  if (!module) GTEST_SKIP() << module.error().message;
  // All take minutes, until they are kept: without PLIMSOLL_ALL_KERNELS=1,
  // which CI sets, some are compiled. For an old GPU it is always some.
  constexpr std::size_t kSome = 4;
  std::size_t every =
      std::getenv("PLIMSOLL_ALL_KERNELS") != nullptr ? 1 : kSome;
  for (const std::string architecture : {"sm_90", "sm_75"}) {
    const std::vector<cuda::Function> all =
        functions_of(typed_records(GetParam()), architecture);
    ASSERT_FALSE(all.empty());
    std::vector<cuda::Function> chosen;
    for (std::size_t i = 0; i < all.size(); i += every) {
      chosen.push_back(all[i]);
    }
    expect_compiled(**module, architecture, chosen);
    every = kSome;
  }
}

class CudaSourcesOfRandomShapes : public ::testing::TestWithParam<RandomKind> {
};

TEST_P(CudaSourcesOfRandomShapes, Compile) {
  const auto module = open_cuda_module();
  if (!module) GTEST_SKIP() << module.error().message;
  const bool many = std::getenv("PLIMSOLL_ALL_KERNELS") != nullptr;
  const auto records = GetParam().drawn(random_draws(many ? 4 : 1));
  ASSERT_FALSE(records.empty());
  std::vector<TypedRecord> all;
  for (const OpRecord& record : records) {
    auto typed = in_dtype(record, GetParam().dtype_of(record));
    ASSERT_TRUE(typed) << record.name << ": " << typed.error().message;
    all.push_back(*std::move(typed));
  }
  expect_compiled(**module, "sm_90", functions_of(all, "sm_90"));
}

// The first time, and when the verdict was kept.
TEST(CudaCompiler, RefusesLocalMemory) {
  const auto module = open_cuda_module();
  if (!module) GTEST_SKIP() << module.error().message;
  const TemporaryFolder cache;
  setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  const std::string source = R"(
extern "C" __global__ void run(float* p, int n) {
  float many[64] = {};
  for (int i = 0; i < n; ++i) many[(int)p[i]] += i;
  for (int i = 0; i < n; ++i) p[i] = many[i];
}
)";
  for (int i = 0; i < 2; ++i) {
    const auto compiled = (*module)->compile(source, "sm_90", 2);
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().code, ErrorCode::unsupported);
    EXPECT_THAT(compiled.error().message,
                ::testing::HasSubstr("Local memory used for function 'run'"));
  }
}

// Brought forward, the loads of this one took 8 bytes more than there are
// registers (NVRTC 13.0): it is compiled again, with loads where they stand.
TEST(CudaCompiler, LeavesLoadsInPlaceWhereRegistersRunOut) {
  const auto module = open_cuda_module();
  if (!module) GTEST_SKIP() << module.error().message;
  const TemporaryFolder cache;
  setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  const std::string source = R"(
typedef unsigned int u32;
struct alignas(16) Four { float v[4]; };
extern "C" __global__ void __launch_bounds__(512, 1) run(const float* x, const float* y, float* out) {
  __shared__ __align__(16) float room[9216];
  float* left = room;
  float* right = room + 16 * 132;
  const u32 t = threadIdx.x;
  for (u32 tile = blockIdx.x; tile < 16; tile += 16) {
    const u32 n0 = tile % 2 * 64;
    const u32 m0 = tile / 2 % 8 * 128;
    const u32 mine = m0 + t / 4;
    float sums[16] = {};
    float next[4];
    float weights[2];
    for (int j = 0; j < 4; ++j) {
      next[j] = mine < 1024 ? x[mine * 16 + t % 4 * 4 + j] : 0;
    }
    for (int j = 0; j < 2; ++j) {
      weights[j] = n0 + t / 8 < 96 ? y[(n0 + t / 8) * 16 + t % 8 * 2 + j] : 0;
    }
    __syncthreads();
    for (int j = 0; j < 4; ++j) left[(t % 4 * 4 + j) * 132 + t / 4] = next[j];
    for (int j = 0; j < 2; ++j) right[(t % 8 * 2 + j) * 68 + t / 8] = weights[j];
    __syncthreads();
#pragma unroll
    for (int p = 0; p < 16; ++p) {
      const Four a = *(const Four*)(left + p * 132 + t / 16 * 4);
      const Four b = *(const Four*)(right + p * 68 + t % 16 * 4);
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        sums[i] = __fmaf_rn(a.v[i / 4], b.v[i % 4], sums[i]);
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const u32 m = m0 + t / 16 * 4 + i / 4;
      const u32 o = n0 + t % 16 * 4 + i % 4;
      if (m >= 1024 || o >= 96) continue;
      out[((m / 64 * 8 + m / 8 % 8) * 8 + m % 8) * 96 + o] = sums[i];
    }
  }
}
)";
  if ((*module)->compile(source, "sm_90", 1)) {
    GTEST_SKIP() << "this compiler has registers enough";
  }
  const auto compiled = (*module)->compile(source, "sm_90", 2);
  EXPECT_TRUE(compiled) << compiled.error().message;
}

INSTANTIATE_TEST_SUITE_P(All, CudaSources, ::testing::ValuesIn(all_families()),
                         [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(Kinds, CudaSourcesOfRandomShapes,
                         ::testing::ValuesIn(random_kinds()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace plimsoll::ops::testing
