// Reductions over axes: sum, mean and maximum.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/builder.h"

namespace plimsoll::ops {

// Attributes: "axes", "keepdims" and "out" ("f32" where bf16 or f16 is reduced
// and the result is not to be rounded).

// Negative axes count from the end; no axes at all means every axis. With
// `keepdims` reduced axes stay as extent 1.
graph::ValueId reduce_sum(graph::Builder& builder, graph::ValueId x,
                          std::vector<std::int64_t> axes,
                          bool keepdims = false);
graph::ValueId reduce_mean(graph::Builder& builder, graph::ValueId x,
                           std::vector<std::int64_t> axes,
                           bool keepdims = false);
graph::ValueId reduce_max(graph::Builder& builder, graph::ValueId x,
                          std::vector<std::int64_t> axes,
                          bool keepdims = false);

std::span<const graph::OpDef* const> reduction_ops();

}  // namespace plimsoll::ops
