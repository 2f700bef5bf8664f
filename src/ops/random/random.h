// Random ops. Their numbers are a function of (seed, step, op, element), so
// recomputation, threads and resumption give the same ones.
#pragma once

#include <cstdint>
#include <span>

#include "graph/builder.h"

namespace plimsoll::ops {

// Each element is dropped with probability `rate` in [0, 1), else divided by
// (1 - rate). `random_step` is an i64 scalar, a counter of the program.
// `op_id` tells the random ops of one graph apart.
graph::ValueId dropout(graph::Builder& builder, graph::ValueId x,
                       graph::ValueId random_step, double rate,
                       std::int64_t seed, std::int64_t op_id);

// Uniform numbers from `low` on and below `high` (in bf16 and f16 rounding may
// give `high`). As many random bits as the type holds; f32, bf16 and f16 share
// their first ones with f64. The same bits on every device.
graph::ValueId random_uniform(graph::Builder& builder, Shape shape, DType dtype,
                              double low, double high,
                              graph::ValueId random_step, std::int64_t seed,
                              std::int64_t op_id);
// Normal numbers by Box and Muller, up to 5.8 deviations from the mean (8.6 in
// f64). The same bits on every device.
graph::ValueId random_normal(graph::Builder& builder, Shape shape, DType dtype,
                             double mean, double deviation,
                             graph::ValueId random_step, std::int64_t seed,
                             std::int64_t op_id);

std::span<const graph::OpDef* const> random_ops();

}  // namespace plimsoll::ops
