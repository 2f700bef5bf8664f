// Products with few results and a long inner dimension: a layer over a small
// batch, or of few units. Blocks make tiles of 8 x 8 results, summed in f32;
// all threads of a block share the inner dimension.
#pragma once

#include <string>

#include "device/cuda_code.h"
#include "graph/kernel_catalog.h"
#include "ops/matmul/product_shape.h"

namespace plimsoll::ops {

// Where this was measured to be faster than the library.
bool suits_skinny(const ProductShape& shape, DType operands);

// `finish` writes result number o from `sum`.
cuda::OpCode skinny_product(const graph::KernelQuery& query,
                            const ProductShape& shape,
                            const std::string& finish);

}  // namespace plimsoll::ops
