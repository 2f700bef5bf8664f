// Products by oneDNN's matmul primitive.
#pragma once

#include <memory>

#include "ops/cpu_kernels.h"
#include "ops/matmul/product_shape.h"

namespace plimsoll::ops {

struct ProductTypes {
  DType operands = DType::f32;
  DType output = DType::f32;
};

// Empty where the library has no implementation. The thread count is the one
// of the arena in which this is called.
Result<std::vector<graph::KernelCandidate>> onednn_candidates(
    const ProductShape& shape, ProductTypes types, ComputeThreads& threads);
Result<std::unique_ptr<Kernel>> make_onednn_product(
    const ProductShape& shape, ProductTypes types,
    const graph::KernelCandidate& candidate, ComputeThreads& threads);

}  // namespace plimsoll::ops
