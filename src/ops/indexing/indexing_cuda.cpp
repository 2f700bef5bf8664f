#include "ops/indexing/indexing_cuda.h"

#include <fmt/core.h>

#include <array>

#include "ops/indexing/gather.h"

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

std::string from_end_text(const graph::Attrs& attrs, std::int64_t rows) {
  if (!counts_from_end(attrs)) return "";
  return fmt::format("    if (at < 0) at += {};\n", rows);
}

}  // namespace plimsoll::ops
