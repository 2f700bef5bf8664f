// Ops that move or reinterpret elements without computing on them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/builder.h"

namespace plimsoll::ops {

std::span<const graph::OpDef* const> movement_ops();
const graph::OpDef& cast_op();
const graph::OpDef& copy_op();

// The same elements under another shape, without a copy.
graph::ValueId reshape(graph::Builder& builder, graph::ValueId a, Shape shape);
// Axis i of the result is axis perm[i] of `a`.
graph::ValueId transpose(graph::Builder& builder, graph::ValueId a,
                         std::vector<std::int64_t> perm);
// Floating to integer truncates and saturates, NaN becomes 0; integers wrap;
// anything but 0 is true. To bf16 and f16 values round by way of f32.
graph::ValueId cast(graph::Builder& builder, graph::ValueId a, DType dtype);
// The same value in a buffer of its own.
graph::ValueId copy(graph::Builder& builder, graph::ValueId a);

}  // namespace plimsoll::ops
