// Products of bf16 and f16 where the library has none for this processor:
// blocks are widened where they are packed, and summed in f32.
#pragma once

#include <memory>

#include "ops/cpu_kernels.h"
#include "ops/matmul/onednn_product.h"

namespace plimsoll::ops {

// Nothing for other operands.
std::vector<graph::KernelCandidate> half_candidates(const ProductShape& shape,
                                                    ProductTypes types,
                                                    int threads);
Result<std::unique_ptr<Kernel>> make_half_product(
    const ProductShape& shape, ProductTypes types,
    const graph::KernelCandidate& candidate, ComputeThreads& threads);

}  // namespace plimsoll::ops
