#include "ops/reduction/reduction_axes.h"

#include <fmt/core.h>

#include <algorithm>

namespace plimsoll::ops {

Result<std::vector<int>> reduced_axes(const Shape& shape,
                                      const std::vector<std::int64_t>& axes) {
  std::vector<int> sorted;
  if (axes.empty()) {
    for (int axis = 0; axis < shape.rank(); ++axis) sorted.push_back(axis);
    return sorted;
  }
  for (const std::int64_t axis : axes) {
    if (axis < -shape.rank() || axis >= shape.rank()) {
      return Error{ErrorCode::bad_input,
                   fmt::format("axis {} is outside of shape {}", axis,
                               shape.to_string())};
    }
    sorted.push_back(static_cast<int>(axis < 0 ? axis + shape.rank() : axis));
  }
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("an axis of shape {} is reduced twice", shape.to_string())};
  }
  return sorted;
}

Shape reduced_shape(const Shape& shape, const std::vector<int>& axes,
                    bool keepdims) {
  std::vector<Dim> dims;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!std::binary_search(axes.begin(), axes.end(), axis)) {
      dims.push_back(shape[axis]);
    } else if (keepdims) {
      dims.emplace_back(1);
    }
  }
  return Shape(std::move(dims));
}

std::int64_t reduced_count(const Shape& shape, const std::vector<int>& axes) {
  std::int64_t count = 1;
  for (const int axis : axes) count *= shape.extent(axis);
  return count;
}

}  // namespace plimsoll::ops
