#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/hash.h"
#include "ops/cuda_kernels.h"
#include "ops/cuda_prelude.h"
#include "ops/cuda_text.h"

namespace plimsoll::ops {
namespace {

// Everything of a function but its name.
std::string text_of(const cuda::Function& function) {
  std::string text = "(";
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    text += fmt::format("const {}* in{}, ", cuda_type(function.inputs[i]), i);
  }
  for (std::size_t i = 0; i < function.outputs.size(); ++i) {
    text += fmt::format("{}* out{}, ", cuda_type(function.outputs[i]), i);
  }
  for (std::size_t i = 0; i < function.numbers.size(); ++i) {
    text += fmt::format("u64 n{}, ", i);
  }
  return text + "unsigned char* scratch, int block, int blocks) {\n" +
         function.body + "}\n";
}

std::string call_text(const std::string& name, const CudaCall& call) {
  std::string text =
      fmt::format("  if (block >= {0} && block < {1}) {{\n    {2}(",
                  call.first_block, call.first_block + call.blocks, name);
  const cuda::Function& function = *call.function;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    text += fmt::format("(const {}*)p{}, ", cuda_type(function.inputs[i]),
                        call.inputs[i]);
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    text += fmt::format("({}*)p{}, ", cuda_type(function.outputs[i]),
                        call.outputs[i]);
  }
  for (const int number : call.numbers) {
    text += fmt::format("(u64)p{}, ", number);
  }
  text += call.scratch < 0 ? "(unsigned char*)0"
                           : fmt::format("(unsigned char*)p{}", call.scratch);
  return text + fmt::format(", block - {}, {});\n  }}\n", call.first_block,
                            call.blocks);
}

}  // namespace

std::string cuda_kernel_source(const std::vector<CudaCall>& calls,
                               int pointers) {
  std::string source(cuda_prelude());
  std::map<std::string, std::string> names;  // by text
  std::vector<const CudaCall*> order;
  for (const CudaCall& call : calls) {
    order.push_back(&call);
    const std::string text = text_of(*call.function);
    const auto [entry, fresh] =
        names.try_emplace(text, "f_" + hash_text(stable_hash(text)));
    if (!fresh) continue;
    source +=
        "\nstatic __device__ __forceinline__ void " + entry->second + text;
  }
  std::stable_sort(
      order.begin(), order.end(),
      [](const CudaCall* a, const CudaCall* b) { return a->phase < b->phase; });

  // One block a multiprocessor is enough: registers never go to memory for
  // the sake of a second.
  source += fmt::format(
      "\nextern \"C\" __global__ void __launch_bounds__({}, 1) run(",
      cuda::kBlockThreads);
  for (int i = 0; i < pointers; ++i) source += fmt::format("void* p{}, ", i);
  source +=
      "void* mark, void* number) {\n"
      "  const int block = (int)blockIdx.x;\n"
      "  if (mark != nullptr && block == 0 && threadIdx.x == 0) {\n"
      "    *(volatile u32*)mark = (u32)(u64)number;\n"
      "  }\n";
  for (std::size_t i = 0; i < order.size(); ++i) {
    // Also makes what this block has written visible to all its threads.
    if (i > 0 && order[i]->phase != order[i - 1]->phase) {
      source += "  __syncthreads();\n";
    }
    source += call_text(names.at(text_of(*order[i]->function)), *order[i]);
  }
  return source + "}\n";
}

}  // namespace plimsoll::ops
