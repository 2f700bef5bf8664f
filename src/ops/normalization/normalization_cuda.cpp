#include "ops/normalization/normalization_cuda.h"

#include <array>

#include "ops/normalization/norm_codes_cuda.h"

namespace plimsoll::ops {

std::span<const CudaKernels> normalization_cuda_kernels() {
  static constexpr std::array<CudaKernels, 10> kernels = {{
      {"layer_norm", row_norm_code},
      {"layer_norm_grad", row_norm_grad_code},
      {"rms_norm", row_norm_code},
      {"rms_norm_grad", row_norm_grad_code},
      {"group_norm", row_norm_code},
      {"group_norm_grad", row_norm_grad_code},
      {"batch_norm", batch_norm_code},
      {"batch_norm_grad", batch_norm_grad_code},
      {"batch_norm_inference", batch_norm_code},
      {"batch_norm_inference_grad", batch_norm_grad_code},
  }};
  return kernels;
}

}  // namespace plimsoll::ops
