#include "ops/indexing/indexing_cuda.h"

#include <array>

namespace plimsoll::ops {

std::span<const CudaKernels> indexing_cuda_kernels() {
  static constexpr std::array<CudaKernels, 6> kernels = {{
      {"gather", gather_cuda},
      {"scatter_add", scatter_add_cuda},
      {"argmax", argmax_cuda},
      {"topk", topk_cuda},
      {"topk_grad", topk_grad_cuda},
      {"one_hot", one_hot_cuda},
  }};
  return kernels;
}

}  // namespace plimsoll::ops
