// Normalization of layers, groups of channels and batches; channels are the
// last axis. Statistics and arithmetic are in f32 (f64 for f64), also where x
// is bf16 or f16; gamma and beta have x's dtype or that of the statistics.
//
// A gamma or beta that is not valid is left out: 1 and 0. Gradients flow back
// from y alone, never from the statistics.
#pragma once

#include <cstdint>
#include <span>

#include "graph/builder.h"

namespace plimsoll::ops {

// Over the last axis: (x - mean) / sqrt(variance + epsilon) * gamma + beta.
// Keeps mean and reciprocal deviation of each row for its gradient.
graph::ValueId layer_norm(graph::Builder& builder, graph::ValueId x,
                          graph::ValueId gamma, graph::ValueId beta,
                          double epsilon);

// Over the last axis: x / sqrt(mean of squares + epsilon) * gamma.
graph::ValueId rms_norm(graph::Builder& builder, graph::ValueId x,
                        graph::ValueId gamma, double epsilon);

// x [B, ..., C]: statistics of each example and group of neighbouring channels.
graph::ValueId group_norm(graph::Builder& builder, graph::ValueId x,
                          graph::ValueId gamma, graph::ValueId beta,
                          std::int64_t groups, double epsilon);

struct BatchNorm {
  graph::ValueId y;
  graph::ValueId mean;      // of the batch, one a channel
  graph::ValueId variance;  // likewise, for a moving average
};
// Statistics of each channel over everything else. y always comes from the
// biased variance; `unbiased` is about the variance that is given out
// (PyTorch's moving average has n / (n - 1) of Keras's).
BatchNorm batch_norm(graph::Builder& builder, graph::ValueId x,
                     graph::ValueId gamma, graph::ValueId beta, double epsilon,
                     bool unbiased = false);

// With statistics that are given, which get no gradient.
graph::ValueId batch_norm_inference(graph::Builder& builder, graph::ValueId x,
                                    graph::ValueId gamma, graph::ValueId beta,
                                    graph::ValueId mean,
                                    graph::ValueId variance, double epsilon);

// momentum * running + (1 - momentum) * batch
graph::ValueId moving_average(graph::Builder& builder, graph::ValueId running,
                              graph::ValueId batch, double momentum);

std::span<const graph::OpDef* const> normalization_ops();

}  // namespace plimsoll::ops
