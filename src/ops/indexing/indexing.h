// Ops that choose elements by index, and that find indices of elements.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/builder.h"

namespace plimsoll::ops {

std::span<const graph::OpDef* const> indexing_ops();

// As NumPy's take: rows of `a` along `axis`, in the shape of `indices`, which
// are integers (not u64); negative ones count from the end, or lie outside. An
// index outside of the axis reads nothing: its row is NaN, 0 for integers and
// booleans.
graph::ValueId gather(graph::Builder& builder, graph::ValueId a,
                      graph::ValueId indices, std::int64_t axis = 0,
                      bool from_end = true);
// The gradient of gather: zeros with `extent` rows along `axis`, to which each
// row of `values` is added in the order of `indices`; rows whose index lies
// outside are left out. All rows are written, also those that no index names.
// A pass lets it add to a third operand instead of zeros, in place.
graph::ValueId scatter_add(graph::Builder& builder, graph::ValueId values,
                           graph::ValueId indices, std::int64_t extent,
                           std::int64_t axis = 0, bool from_end = true);

// The index (i64) of the first of the largest; NaN is larger than all, as in
// NumPy.
graph::ValueId argmax(graph::Builder& builder, graph::ValueId a,
                      std::int64_t axis, bool keepdims = false);

struct TopK {
  graph::ValueId values;
  graph::ValueId indices;  // i64
};
// The k largest of the last axis, largest first, equal ones by their index;
// NaN is larger than all.
TopK topk(graph::Builder& builder, graph::ValueId a, std::int64_t k);

// Along a new last axis of `depth`: 1 where the index is, 0 elsewhere and
// everywhere where it lies outside.
graph::ValueId one_hot(graph::Builder& builder, graph::ValueId indices,
                       std::int64_t depth, DType dtype);

// What the family's own files share.
const graph::OpDef& gather_op();
const graph::OpDef& scatter_add_op();
const graph::OpDef& argmax_op();
const graph::OpDef& topk_op();
const graph::OpDef& topk_grad_op();
const graph::OpDef& one_hot_op();
// Integers that all fit into i64.
bool is_index(DType dtype);

}  // namespace plimsoll::ops
