// Casts between all element types.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace plimsoll::io {

// Casts `count` elements; the ranges must not overlap. Integers saturate, NaN
// becomes 0, any non-zero value is true, halves round to nearest even.
void convert(DType from, const void* source, DType to, void* target,
             std::int64_t count) noexcept;

}  // namespace plimsoll::io
