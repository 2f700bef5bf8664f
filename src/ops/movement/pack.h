// A tensor in a kernel's own layout, and back: what lowering puts before and
// after kernels that want one. The layout is in the attributes.
#pragma once

#include "graph/layout.h"
#include "graph/op_def.h"

namespace plimsoll::ops {

// Of [..] as many elements as the layout has, padding included.
const graph::OpDef& pack_op();
// Back to the attribute "shape".
const graph::OpDef& unpack_op();

// A layout's digits with the places in row-major memory that they stand for.
struct PackDigit {
  std::int64_t count = 1;
  std::int64_t stride = 0;  // in row-major elements
  int axis = 0;
  std::int64_t step = 1;  // along the axis
};
struct PackPlan {
  std::vector<PackDigit> digits;      // outermost first
  std::vector<std::int64_t> extents;  // of the axes
  std::vector<bool> is_padded;        // by axis
  std::int64_t elements = 0;          // packed
};
// Of attributes that the op has accepted.
PackPlan pack_plan(const graph::Attrs& attrs);

}  // namespace plimsoll::ops
