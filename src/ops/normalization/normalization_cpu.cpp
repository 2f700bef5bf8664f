#include "ops/normalization/normalization_cpu.h"

#include <array>

#include "ops/normalization/norm_kernel.h"

namespace plimsoll::ops {

std::span<const CpuKernels> normalization_cpu_kernels() {
  static constexpr std::array<CpuKernels, 10> kernels = {{
      {"layer_norm", row_norm_candidates, create_row_norm},
      {"layer_norm_grad", row_norm_grad_candidates, create_row_norm_grad},
      {"rms_norm", row_norm_candidates, create_row_norm},
      {"rms_norm_grad", row_norm_grad_candidates, create_row_norm_grad},
      {"group_norm", channel_norm_candidates, create_channel_norm},
      {"group_norm_grad", channel_norm_grad_candidates,
       create_channel_norm_grad},
      {"batch_norm", channel_norm_candidates, create_channel_norm},
      {"batch_norm_grad", channel_norm_grad_candidates,
       create_channel_norm_grad},
      {"batch_norm_inference", channel_norm_candidates, create_channel_norm},
      {"batch_norm_inference_grad", channel_norm_grad_candidates,
       create_channel_norm_grad},
  }};
  return kernels;
}

}  // namespace plimsoll::ops
