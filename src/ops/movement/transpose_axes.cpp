#include "ops/movement/transpose_axes.h"

namespace plimsoll::ops {

std::vector<TransposeAxis> transpose_axes(
    const Shape& input, const std::vector<std::int64_t>& perm) {
  const auto strides = row_major_strides(input);
  std::vector<TransposeAxis> axes;
  for (const std::int64_t from : perm) {
    const TransposeAxis axis{input.extent(static_cast<int>(from)),
                             strides[static_cast<std::size_t>(from)]};
    if (axis.extent == 1) continue;
    if (!axes.empty() && axes.back().stride == axis.stride * axis.extent) {
      axes.back() = {axes.back().extent * axis.extent, axis.stride};
    } else {
      axes.push_back(axis);
    }
  }
  while (axes.size() < 2) axes.insert(axes.begin(), TransposeAxis{1, 0});
  return axes;
}

}  // namespace plimsoll::ops
