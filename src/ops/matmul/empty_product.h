// Products over an inner dimension of nothing: 0, or the bias.
#pragma once

#include "ops/kernel.h"
#include "ops/matmul/onednn_product.h"

namespace plimsoll::ops {

inline constexpr std::string_view kEmptyProduct = "matmul:own:empty";

std::unique_ptr<Kernel> make_empty_product(const ProductShape& shape,
                                           ProductTypes types);

}  // namespace plimsoll::ops
