#include "ops/cuda_kernels.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>

#include "ops/attention/attention_cuda.h"
#include "ops/convolution/convolution_cuda.h"
#include "ops/elementwise/elementwise_cuda.h"
#include "ops/embedding/embedding_cuda.h"
#include "ops/indexing/indexing_cuda.h"
#include "ops/loss/linear_cross_entropy_cuda.h"
#include "ops/loss/loss_cuda.h"
#include "ops/matmul/matmul_cuda.h"
#include "ops/movement/movement_cuda.h"
#include "ops/normalization/normalization_cuda.h"
#include "ops/pooling/pooling_cuda.h"
#include "ops/random/random_cuda.h"
#include "ops/recurrent/recurrent_cuda.h"
#include "ops/reduction/reduction_cuda.h"
#include "ops/refusal.h"
#include "ops/resize/resize_cuda.h"
#include "ops/softmax/softmax_cuda.h"
#include "ops/update/update_cuda.h"

namespace plimsoll::ops {
namespace {

using KernelTable = std::map<std::string_view, const CudaKernels*>;

const KernelTable& kernel_table() {
  static const KernelTable table = [] {
    KernelTable kernels;
    const auto append = [&](std::span<const CudaKernels> family) {
      for (const CudaKernels& entry : family) kernels.emplace(entry.op, &entry);
    };
    append(elementwise_cuda_kernels());
    append(movement_cuda_kernels());
    append(matmul_cuda_kernels());
    append(reduction_cuda_kernels());
    append(softmax_cuda_kernels());
    append(loss_cuda_kernels());
    append(linear_loss_cuda_kernels());
    append(random_cuda_kernels());
    append(update_cuda_kernels());
    append(indexing_cuda_kernels());
    append(resize_cuda_kernels());
    append(embedding_cuda_kernels());
    append(normalization_cuda_kernels());
    append(convolution_cuda_kernels());
    append(pooling_cuda_kernels());
    append(recurrent_cuda_kernels());
    append(attention_cuda_kernels());
    return kernels;
  }();
  return table;
}

// A rate that is not known costs nothing.
double seconds_of(double work, double per_second) {
  return per_second > 0 ? work / per_second : 0;
}

// Of the matrix units' rate, what generated kernels reach; cuDNN's attention
// at GPT-2's shape about as much.
constexpr double kGeneratedPart = 0.25;

double flops_per_second(const cuda::OpCode& code, DType dtype,
                        const DeviceProfile& profile) {
  if (dtype == DType::f64) return profile.f64_flops_per_second;
  if (code.matrix_units) {
    return kGeneratedPart * (dtype == DType::bf16
                                 ? profile.bf16_flops_per_second
                                 : profile.f16_flops_per_second);
  }
  bool tf32 = false;
  if (const auto* product = std::get_if<cuda::Product>(&code.stages[0])) {
    dtype = product->operands;
    tf32 = product->tf32;
  } else if (const auto* convolution =
                 std::get_if<cuda::Convolution>(&code.stages[0])) {
    dtype = convolution->dtype;
    tf32 = convolution->tf32;
  } else {
    return profile.f32_flops_per_second;
  }
  switch (dtype) {
    case DType::bf16:
      return profile.bf16_flops_per_second;
    case DType::f16:
      return profile.f16_flops_per_second;
    default:
      return tf32 ? profile.tf32_flops_per_second
                  : profile.f32_flops_per_second;
  }
}

constexpr int kFirstWithMatrixUnits = 80;
constexpr int kWithLibraryLayers = 90;

// "sm_90": 90; 0 where there is no number.
int architecture_of(const DeviceProfile& profile) {
  const std::string_view prefix = "sm_";
  const std::string& name = profile.instruction_set;
  return name.starts_with(prefix) ? std::atoi(name.c_str() + prefix.size()) : 0;
}

}  // namespace

CudaCatalog::CudaCatalog(DeviceProfile profile, CudaSettings settings)
    : profile_(std::move(profile)), settings_(settings) {
  settings_.matrix_units = architecture_of(profile_) >= kFirstWithMatrixUnits;
  settings_.library_layers &= suits_library_layers(profile_);
}

Result<cuda::OpCode> CudaCatalog::code(const graph::KernelQuery& query,
                                       const CudaSettings& settings) {
  const auto found = kernel_table().find(query.op->name);
  if (found == kernel_table().end()) return no_kernel(query, "cuda");
  auto made = found->second->code(query, settings);
  if (made.ok() && made->stages.empty()) return no_kernel(query, "cuda");
  return made;
}

Result<cuda::OpCode> CudaCatalog::code(const graph::KernelQuery& query) const {
  return code(query, settings_);
}

Result<cuda::OpCode> CudaCatalog::code(const graph::Instruction& step) const {
  CudaSettings settings = settings_;
  settings.library_layers = uses_compiled_layer(step.kernel);
  return code({step.op, step.input_types, step.output_types, &step.attrs},
              settings);
}

Result<std::vector<graph::KernelCandidate>> CudaCatalog::candidates(
    const graph::KernelQuery& query) const {
  PLIMSOLL_ASSIGN(const cuda::OpCode made, code(query));
  const graph::Cost cost =
      query.op->cost(query.inputs, query.outputs, *query.attrs);
  graph::KernelCandidate candidate;
  candidate.name = made.name;
  candidate.scratch_bytes = made.scratch_bytes;
  candidate.seconds =
      profile_.launch_seconds * static_cast<double>(made.stages.size()) +
      std::max(
          {made.least_seconds,
           seconds_of(cost.flops,
                      flops_per_second(made, query.outputs[0].dtype, profile_)),
           seconds_of(cost.bytes, profile_.memory_bytes_per_second)});
  return std::vector{std::move(candidate)};
}

bool uses_product_library(const graph::KernelCandidate& candidate) {
  return candidate.name.starts_with(kLibraryProduct);
}

bool uses_layer_library(const graph::KernelCandidate& candidate) {
  return candidate.name.find(kLayerLibrary) != std::string::npos;
}

bool uses_library_convolution(const graph::KernelCandidate& candidate) {
  return uses_layer_library(candidate) && !uses_compiled_layer(candidate);
}

bool uses_compiled_layer(const graph::KernelCandidate& candidate) {
  return candidate.name.find(kCompiledLayer) != std::string::npos;
}

bool suits_library_layers(const DeviceProfile& profile) {
  return architecture_of(profile) == kWithLibraryLayers;
}

}  // namespace plimsoll::ops
