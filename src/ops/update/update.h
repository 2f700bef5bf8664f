// Optimiser updates: pure ops whose outputs are the new parameter and state,
// meant to be written in place. Rules and defaults are Keras's.
#pragma once

#include <span>

#include "graph/builder.h"

namespace plimsoll::ops {

std::span<const graph::OpDef* const> update_ops();

struct AdamSettings {
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
};

struct MomentumUpdate {
  graph::ValueId parameter;
  graph::ValueId velocity;
};

struct AdamUpdate {
  graph::ValueId parameter;
  graph::ValueId first_moment;
  graph::ValueId second_moment;
};

// The learning rate is a scalar of the parameter's dtype, the step an i64
// scalar: the number of this update, counted from 1.

// p - rate * g
graph::ValueId sgd(graph::Builder& builder, graph::ValueId parameter,
                   graph::ValueId gradient, graph::ValueId rate);
// v' = momentum * v - rate * g; p + v'
MomentumUpdate sgd_momentum(graph::Builder& builder, graph::ValueId parameter,
                            graph::ValueId gradient, graph::ValueId velocity,
                            graph::ValueId rate, double momentum);
// m' = m + (g - m)(1 - b1); v' = v + (g^2 - v)(1 - b2); t = step;
// p - rate * sqrt(1 - b2^t) / (1 - b1^t) * m' / (sqrt(v') + epsilon)
AdamUpdate adam(graph::Builder& builder, graph::ValueId parameter,
                graph::ValueId gradient, graph::ValueId first_moment,
                graph::ValueId second_moment, graph::ValueId rate,
                graph::ValueId step, const AdamSettings& settings = {});
// As adam, from a parameter first shrunk by rate * weight_decay of itself.
AdamUpdate adamw(graph::Builder& builder, graph::ValueId parameter,
                 graph::ValueId gradient, graph::ValueId first_moment,
                 graph::ValueId second_moment, graph::ValueId rate,
                 graph::ValueId step, double weight_decay,
                 const AdamSettings& settings = {});

// An i64 scalar plus one.
graph::ValueId increment(graph::Builder& builder, graph::ValueId counter);
// An f64 scalar plus an f32 or f64 scalar.
graph::ValueId accumulate(graph::Builder& builder, graph::ValueId total,
                          graph::ValueId value);

}  // namespace plimsoll::ops
