// One number as the bits of an element.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/result.h"

namespace plimsoll::ops {

// Rounded to a floating type; an error where an integer or a boolean cannot
// hold it.
Result<std::uint64_t> element_bits(DType dtype, double value);

}  // namespace plimsoll::ops
