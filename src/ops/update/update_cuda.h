#pragma once

#include <span>

#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

std::span<const CudaKernels> update_cuda_kernels();

// A rule as text, for a query whose first `inputs` are those of its dense one:
// `prepare` once a thread, then `element` for p, g and states s0, s1, s2.
struct CudaUpdateText {
  int states = 0;
  bool gated = false;  // `prepare` makes a `gate`
  std::string prepare;
  std::string element;
};
CudaUpdateText cuda_update_text(const graph::KernelQuery& query,
                                std::size_t inputs);

}  // namespace plimsoll::ops
