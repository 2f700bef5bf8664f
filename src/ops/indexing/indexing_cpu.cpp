#include "ops/indexing/indexing_cpu.h"

#include <array>

namespace plimsoll::ops {

std::span<const CpuKernels> indexing_cpu_kernels() {
  static const std::array<CpuKernels, 6> kernels = {
      gather_cpu(), scatter_add_cpu(), argmax_cpu(),
      topk_cpu(),   topk_grad_cpu(),   one_hot_cpu()};
  return kernels;
}

}  // namespace plimsoll::ops
