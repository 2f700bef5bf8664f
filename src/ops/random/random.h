// Random ops. Their numbers are a function of (seed, step, op, element), so
// recomputation, threads and resumption give the same ones.
#pragma once

#include <cstdint>
#include <span>

#include "graph/builder.h"

namespace plimsoll::ops {

// Each element is dropped with probability `rate` in [0, 1), else divided by
// (1 - rate). `random_step` is an i64 scalar, a counter of the program.
// `op_id` tells the dropouts of one graph apart.
graph::ValueId dropout(graph::Builder& builder, graph::ValueId x,
                       graph::ValueId random_step, double rate,
                       std::int64_t seed, std::int64_t op_id);

std::span<const graph::OpDef* const> random_ops();

}  // namespace plimsoll::ops
