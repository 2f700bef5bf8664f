// Which axes a reduction runs over, and the shape that remains.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/attrs.h"

namespace plimsoll::ops {

// Sorted and counted from the front; an axis outside the shape or named twice
// is an error. None at all means every axis.
Result<std::vector<int>> reduced_axes(const Shape& shape,
                                      const std::vector<std::int64_t>& axes);

// The shape after reducing `axes` (as reduced_axes gives them).
Shape reduced_shape(const Shape& shape, const std::vector<int>& axes,
                    bool keepdims);

// Elements of a fixed shape that fall into one result.
std::int64_t reduced_count(const Shape& shape, const std::vector<int>& axes);

}  // namespace plimsoll::ops
