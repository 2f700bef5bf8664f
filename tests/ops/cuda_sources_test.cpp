// Every function of every record compiles, for an old or a new GPU, and keeps
// what it works on in registers. Needs the CUDA module, not a GPU.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <chrono>
#include <set>

#include "device/cuda_device.h"
#include "ops/all_records.h"
#include "ops/cuda_kernels.h"
#include "ops/in_dtype.h"

namespace plimsoll::ops::testing {
namespace {

// Distinct functions of a family's records in all floating dtypes; and those
// that are handed numbers, if they are.
std::vector<cuda::Function> functions_of(const Family& family,
                                         const std::string& architecture) {
  std::vector<cuda::Function> functions;
  std::set<std::string> seen;
  DeviceProfile profile;
  profile.instruction_set = architecture;
  const CudaCatalog catalog(profile, {});
  const CudaCatalog late(profile, {.late_numbers = true});
  for (const OpRecord& record : family.records()) {
    for (const DType dtype :
         {DType::f32, DType::f64, DType::bf16, DType::f16}) {
      const auto typed = in_dtype(record, dtype);
      if (!typed) continue;  // the op's own rule
      for (const CudaCatalog* from : {&catalog, &late}) {
        const auto code = from->code(typed->query());
        if (!code) {
          ADD_FAILURE() << record.name << ": " << code.error().message;
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
  }
  return functions;
}

std::string kernel_of(const cuda::Function& function) {
  CudaCall call{.function = &function, .inputs = {}, .outputs = {}};
  int pointers = 0;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    call.inputs.push_back(pointers++);
  }
  for (std::size_t i = 0; i < function.outputs.size(); ++i) {
    call.outputs.push_back(pointers++);
  }
  for (std::size_t i = 0; i < function.numbers.size(); ++i) {
    call.numbers.push_back(pointers++);
  }
  call.scratch = pointers++;
  call.blocks = static_cast<int>(function.blocks);
  return cuda_kernel_source({call}, pointers);
}

class CudaSources : public ::testing::TestWithParam<Family> {};

TEST_P(CudaSources, Compile) {
  const auto module = open_cuda_module();
  if (!module) GTEST_SKIP() << module.error().message;
  // Every other one for an old and the others for a new GPU: both for all
  // takes twice the minutes.
  std::size_t first = 0;
  for (const std::string architecture : {"sm_90", "sm_75"}) {
    const std::vector<cuda::Function> functions =
        functions_of(GetParam(), architecture);
    ASSERT_FALSE(functions.empty());
    for (std::size_t i = first++; i < functions.size(); i += 2) {
      const auto compiled =
          (*module)->compile(kernel_of(functions[i]), architecture);
      EXPECT_TRUE(compiled) << architecture << ": " << compiled.error().message
                            << functions[i].body;
      if (!compiled) return;
    }
  }
}

// The first time, and when the verdict was kept.
TEST(CudaCompiler, RefusesLocalMemory) {
  const auto module = open_cuda_module();
  if (!module) GTEST_SKIP() << module.error().message;
  const std::string source = fmt::format(
      R"(extern "C" __global__ void run(float* p, int n) {{  // {}
  float many[64] = {{}};
  for (int i = 0; i < n; ++i) many[(int)p[i]] += i;
  for (int i = 0; i < n; ++i) p[i] = many[i];
}}
)",
      std::chrono::system_clock::now().time_since_epoch().count());
  for (int i = 0; i < 2; ++i) {
    const auto compiled = (*module)->compile(source, "sm_90");
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().code, ErrorCode::unsupported);
    EXPECT_THAT(compiled.error().message,
                ::testing::HasSubstr("local memory; it may use none"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaSources, ::testing::ValuesIn(all_families()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace plimsoll::ops::testing
