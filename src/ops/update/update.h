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
// scalar: the number of this update, counted from 1. A gate, where there is
// one, is a scalar of the same dtype: gradients are multiplied by it, and 0
// leaves parameter and states as they are, whatever the gradient holds.

// p - rate * g
graph::ValueId sgd(graph::Builder& builder, graph::ValueId parameter,
                   graph::ValueId gradient, graph::ValueId rate,
                   graph::ValueId gate = {});
// v' = momentum * v - rate * g; p + v'
MomentumUpdate sgd_momentum(graph::Builder& builder, graph::ValueId parameter,
                            graph::ValueId gradient, graph::ValueId velocity,
                            graph::ValueId rate, double momentum,
                            graph::ValueId gate = {});
// m' = m + (g - m)(1 - b1); v' = v + (g^2 - v)(1 - b2); t = step;
// p - rate * sqrt(1 - b2^t) / (1 - b1^t) * m' / (sqrt(v') + epsilon)
AdamUpdate adam(graph::Builder& builder, graph::ValueId parameter,
                graph::ValueId gradient, graph::ValueId first_moment,
                graph::ValueId second_moment, graph::ValueId rate,
                graph::ValueId step, const AdamSettings& settings = {},
                graph::ValueId gate = {});
// As adam, from a parameter first shrunk by rate * weight_decay of itself.
AdamUpdate adamw(graph::Builder& builder, graph::ValueId parameter,
                 graph::ValueId gradient, graph::ValueId first_moment,
                 graph::ValueId second_moment, graph::ValueId rate,
                 graph::ValueId step, double weight_decay,
                 const AdamSettings& settings = {}, graph::ValueId gate = {});

// Where the gate stands among an update's inputs: behind rate and step. -1
// where there are no more than those.
constexpr int update_gate(int states, std::size_t inputs) {
  const int place = 3 + states + (states == 2 ? 1 : 0);
  return static_cast<int>(inputs) > place ? place : -1;
}

// An i64 scalar plus one.
graph::ValueId increment(graph::Builder& builder, graph::ValueId counter);
// An f64 scalar plus an f32 or f64 scalar.
graph::ValueId accumulate(graph::Builder& builder, graph::ValueId total,
                          graph::ValueId value);
// 1 where every element is a finite number, else 0: an f32 scalar, f64 of f64.
graph::ValueId all_finite(graph::Builder& builder, graph::ValueId x);

// Dynamic scaling of a loss. After finite gradients the step counts on, the
// gate is 1 / scale, and the scale doubles after `growth_steps` of them in a
// row; otherwise the step stays, the gate is 0 and the scale halves. It stays
// between 1 and 2^24.
struct LossScaling {
  graph::ValueId scale;       // f32 or f64 scalar
  graph::ValueId good_steps;  // i64 scalar: since the scale has changed
  graph::ValueId step;        // i64 scalar
};
struct ScaledStep {
  LossScaling next;
  graph::ValueId gate;
};
inline constexpr std::int64_t kScaleGrowthSteps = 2000;
inline constexpr double kLeastScale = 1;
inline constexpr double kMostScale = 1 << 24;
ScaledStep scale_step(graph::Builder& builder, const LossScaling& now,
                      graph::ValueId finite,
                      std::int64_t growth_steps = kScaleGrowthSteps);

}  // namespace plimsoll::ops
