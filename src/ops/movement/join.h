// Several tensors put together along an axis, and one taken apart.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace plimsoll::ops {

const graph::OpDef& concat_op();
const graph::OpDef& split_op();

// Negative axes count from the end. Along the batch all values must be
// multiples of it: [B, 3] and [2B, 3] make [3B, 3].
graph::ValueId concat(graph::Builder& builder,
                      std::vector<graph::ValueId> values, std::int64_t axis);
// Values of one shape along a new axis.
graph::ValueId stack(graph::Builder& builder,
                     std::vector<graph::ValueId> values, std::int64_t axis);
// Parts of the given sizes, which add up to the axis; empty after a mistake.
// Along the batch sizes are multiples of it.
std::vector<graph::ValueId> split(graph::Builder& builder, graph::ValueId a,
                                  std::int64_t axis,
                                  std::vector<std::int64_t> sizes);
std::vector<graph::ValueId> split_equally(graph::Builder& builder,
                                          graph::ValueId a, std::int64_t axis,
                                          std::int64_t sections);

}  // namespace plimsoll::ops
