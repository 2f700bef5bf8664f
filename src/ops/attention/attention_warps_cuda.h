// What the functions of attention by matrix units share: pieces of products
// that a warp makes, and rows on their way into shared memory.
#pragma once

#include <string>

#include "base/dtype.h"
#include "ops/attention/attention_shape.h"

namespace plimsoll::ops {

// Declares T, kWidth, kSteps, kStep, kScale, and the structs Warp and Rows.
std::string attention_warps_text(DType dtype, const AttentionShape& shape);

}  // namespace plimsoll::ops
