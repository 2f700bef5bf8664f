// Shape rules of the convolutions.
#pragma once

#include <span>

#include "graph/op_def.h"

namespace plimsoll::ops {

Result<graph::TypeList> conv2d_types(std::span<const graph::TensorType> inputs,
                                     const graph::Attrs& attrs);
Result<graph::TypeList> conv2d_data_grad_types(
    std::span<const graph::TensorType> inputs, const graph::Attrs& attrs);
Result<graph::TypeList> conv2d_weight_grad_types(
    std::span<const graph::TensorType> inputs, const graph::Attrs& attrs);

}  // namespace plimsoll::ops
