#include "ops/convolution/convolution_cpu.h"

#include <algorithm>
#include <array>

#include "device/cpu/compute_threads.h"
#include "ops/convolution/conv_shape.h"
#include "ops/convolution/depthwise_cpu.h"
#include "ops/convolution/onednn_conv_cpu.h"
#include "ops/convolution/own_conv_cpu.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

template <ConvPass kPass>
Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads& threads) {
  const ConvShape shape =
      conv_shape(kPass, query.inputs, query.outputs, *query.attrs);
  const DType dtype = query.inputs[0].dtype;
  std::vector<KernelCandidate> all;
  if (shape.is_depthwise()) {
    all.push_back(depthwise_candidate(shape, kPass, dtype, threads));
  } else if (kPass == ConvPass::weight_grad) {
    all.push_back(gathered_sum_candidate(shape, dtype, threads));
  } else {
    all.push_back(gathered_candidate(shape, kPass, dtype, threads));
  }
  if (dtype != DType::f64) {
    const auto library = onednn_conv_candidates(shape, kPass, dtype, threads);
    all.insert(all.end(), library.begin(), library.end());
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const KernelCandidate& a, const KernelCandidate& b) {
                     return a.seconds < b.seconds;
                   });
  return all;
}

template <ConvPass kPass>
Result<std::unique_ptr<Kernel>> create(const KernelQuery& query,
                                       const KernelCandidate& candidate,
                                       ComputeThreads& threads) {
  const ConvShape shape =
      conv_shape(kPass, query.inputs, query.outputs, *query.attrs);
  const DType dtype = query.inputs[0].dtype;
  if (is_onednn_conv(candidate)) {
    return make_onednn_conv(shape, kPass, dtype, candidate, threads);
  }
  if (shape.is_depthwise()) {
    return make_depthwise(shape, kPass, dtype, threads);
  }
  return kPass == ConvPass::weight_grad
             ? make_gathered_sum(shape, dtype, threads)
             : make_gathered(shape, kPass, dtype, threads);
}

}  // namespace

bool asks_onednn_convolution(const KernelCandidate& candidate, DType dtype) {
  return dtype != DType::f64 && candidate.name.starts_with("conv2d") &&
         (is_onednn_conv(candidate) ||
          candidate.name.find(":own:") != std::string::npos);
}

std::span<const CpuKernels> convolution_cpu_kernels() {
  static constexpr std::array<CpuKernels, 3> kernels = {{
      {"conv2d", candidates<ConvPass::forward>, create<ConvPass::forward>},
      {"conv2d_data_grad", candidates<ConvPass::data_grad>,
       create<ConvPass::data_grad>},
      {"conv2d_weight_grad", candidates<ConvPass::weight_grad>,
       create<ConvPass::weight_grad>},
  }};
  return kernels;
}

}  // namespace plimsoll::ops
