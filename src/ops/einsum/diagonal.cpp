#include "ops/einsum/diagonal.h"

#include <algorithm>

#include "ops/movement/movement.h"
#include "ops/movement/window.h"

namespace plimsoll::ops {

graph::ValueId diagonal(graph::Builder& builder, graph::ValueId a, int first,
                        int second) {
  if (!builder.ok()) return {};
  const Shape shape = builder.type(a).shape;
  const std::int64_t extent = shape.extent(first);
  std::vector<std::int64_t> perm;
  std::vector<Dim> dims;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis == first || axis == second) continue;
    perm.push_back(axis);
    dims.push_back(shape[axis]);
  }
  perm.insert(perm.end(), {first, second});
  // Row by row, element (i, i) lies at i * (extent + 1).
  dims.emplace_back(extent * extent);
  std::vector<std::int64_t> steps(dims.size(), 1);
  steps.back() = extent + 1;
  if (!std::is_sorted(perm.begin(), perm.end())) {
    a = transpose(builder, a, std::move(perm));
  }
  a = reshape(builder, a, Shape(std::move(dims)));
  return slice(builder, a, {}, {}, std::move(steps));
}

}  // namespace plimsoll::ops
