#pragma once

#include <span>

#include "ops/cpu_kernels.h"
#include "ops/matmul/onednn_product.h"

namespace plimsoll::ops {

std::span<const CpuKernels> matmul_cpu_kernels();

// Products that are part of another op, cheapest first.
Result<std::vector<graph::KernelCandidate>> product_candidates(
    const ProductShape& shape, ProductTypes types, ComputeThreads& threads);
Result<std::unique_ptr<Kernel>> make_product(
    const ProductShape& shape, ProductTypes types,
    const graph::KernelCandidate& candidate, ComputeThreads& threads);

}  // namespace plimsoll::ops
