// Axes as people name them.
#pragma once

#include <cstdint>
#include <optional>

#include "base/shape.h"

namespace plimsoll::ops {

// Counted from the front; none where there is no such axis.
inline std::optional<int> axis_of(int rank, std::int64_t axis) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// A fixed shape around one axis.
struct AroundAxis {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
};

inline AroundAxis around_axis(const Shape& shape, int axis) {
  AroundAxis around;
  for (int i = 0; i < axis; ++i) around.outer *= shape.extent(i);
  around.extent = shape.extent(axis);
  for (int i = axis + 1; i < shape.rank(); ++i) around.inner *= shape.extent(i);
  return around;
}

}  // namespace plimsoll::ops
