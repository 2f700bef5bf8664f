// A matrix times a vector, as layers of one unit have it: each element of the
// matrix is read once, so memory bounds it. cuBLASLt has no algorithm for some
// of these in 16 bits with a bias (8,192 and more in a row, seen with 13.0)
// within the workspace of a plan.
#pragma once

#include <string>

#include "device/cuda_code.h"
#include "graph/kernel_catalog.h"
#include "ops/matmul/product_shape.h"

namespace plimsoll::ops {

// Where this was measured to be as fast as the library, or is needed.
bool suits_vector(const ProductShape& shape, DType operands);

// `finish` writes result number o from `sum`.
cuda::OpCode vector_product(const graph::KernelQuery& query,
                            const ProductShape& shape,
                            const std::string& finish);

}  // namespace plimsoll::ops
