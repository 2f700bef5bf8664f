// Shape and dtype inference of the family.
#pragma once

#include <span>

#include "ops/normalization/norm_form.h"

namespace plimsoll::ops {

Result<graph::TypeList> norm_types(NormKind kind, bool gradient,
                                   std::span<const graph::TensorType> inputs,
                                   const graph::Attrs& attrs);

}  // namespace plimsoll::ops
