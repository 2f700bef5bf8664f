// Products by our own kernels: which of them, how the work is split, what it
// costs. Everything is decided by sizes, so the same query gives the same
// answer; the split never changes a bit.
#pragma once

#include <memory>

#include "ops/cpu_kernels.h"
#include "ops/matmul/product_shape.h"

namespace plimsoll::ops {

// One core, f32, by a wide block: measured at 2.8 GHz.
double own_flops_per_second();

// f32 and f64; nothing for other types.
std::vector<graph::KernelCandidate> own_candidates(const ProductShape& shape,
                                                   DType dtype, int threads);
Result<std::unique_ptr<Kernel>> make_own_product(
    const ProductShape& shape, DType dtype,
    const graph::KernelCandidate& candidate, ComputeThreads& threads);

}  // namespace plimsoll::ops
