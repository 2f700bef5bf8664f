// Products of bf16 with one long side and one of at most 16, as the first and
// last layers of networks have them: memory bounds them, so the large operand
// is read once and nothing of its size is packed.
#pragma once

#include <memory>

#include "ops/cpu_kernels.h"
#include "ops/matmul/onednn_product.h"

namespace plimsoll::ops {

// Nothing for other operands or sides. Sums over a long side are cut by its
// length alone: threads change no bit.
std::vector<graph::KernelCandidate> narrow_candidates(const ProductShape& shape,
                                                      ProductTypes types,
                                                      int threads);
Result<std::unique_ptr<Kernel>> make_narrow_product(
    const ProductShape& shape, ProductTypes types,
    const graph::KernelCandidate& candidate, ComputeThreads& threads);

}  // namespace plimsoll::ops
