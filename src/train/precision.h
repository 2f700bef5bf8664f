// In which type a job computes, and what stays wider.
#pragma once

#include <string>

#include "graph/builder.h"
#include "train/job_spec.h"

namespace plimsoll::train {

// Of parameters, optimizer state, statistics, labels and losses: f64 where the
// job says so, f32 otherwise. bf16 and f16 are for what lies between.
constexpr DType master_dtype(DType precision) { return wide_dtype(precision); }

// What a layer computes in: its own, or the job's.
DType compute_dtype(const Layer& layer, DType precision);

// Whether gradients go through f16, which has no room for small ones: the loss
// is scaled then.
bool needs_loss_scale(const ModelSpec& model, DType precision);

inline constexpr double kFirstLossScale = 1 << 15;

// `value` as `dtype` where it is a floating value of another; class indices
// stay as they are.
graph::ValueId in_dtype(graph::Builder& builder, graph::ValueId value,
                        DType dtype);

}  // namespace plimsoll::train
