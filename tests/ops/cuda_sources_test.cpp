// Every function of every record compiles, for an old or a new GPU. Needs the
// CUDA module, not a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>

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

// Many functions in one kernel, each on a block of its own: one compilation
// instead of hundreds.
std::string kernel_of(std::span<const cuda::Function> functions) {
  std::vector<CudaCall> calls;
  int pointers = 1;  // the first is everybody's scratch
  for (const cuda::Function& function : functions) {
    CudaCall call{.function = &function, .inputs = {}, .outputs = {}};
    call.scratch = 0;
    int next = 1;
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      call.inputs.push_back(next++);
    }
    for (std::size_t i = 0; i < function.outputs.size(); ++i) {
      call.outputs.push_back(next++);
    }
    for (std::size_t i = 0; i < function.numbers.size(); ++i) {
      call.numbers.push_back(next++);
    }
    pointers = std::max(pointers, next);
    call.first_block = static_cast<int>(calls.size());
    calls.push_back(std::move(call));
  }
  return cuda_kernel_source(calls, pointers);
}

class CudaSources : public ::testing::TestWithParam<Family> {};

TEST_P(CudaSources, Compile) {
  const auto module = open_cuda_module();
  if (!module) GTEST_SKIP() << module.error().message;
  // Every other piece for an old and the others for a new GPU: both for all
  // takes twice the minutes.
  constexpr std::size_t kAtOnce = 25;
  std::size_t first = 0;
  for (const std::string architecture : {"sm_90", "sm_75"}) {
    const std::vector<cuda::Function> functions =
        functions_of(GetParam(), architecture);
    ASSERT_FALSE(functions.empty());
    for (std::size_t i = first; i < functions.size(); i += 2 * kAtOnce) {
      const auto some = std::span(functions).subspan(
          i, std::min(kAtOnce, functions.size() - i));
      const auto compiled = (*module)->compile(kernel_of(some), architecture);
      EXPECT_TRUE(compiled) << architecture << ": " << compiled.error().message;
      if (!compiled) return;
    }
    first = kAtOnce;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaSources, ::testing::ValuesIn(all_families()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace plimsoll::ops::testing
