// Optimiser updates: pure ops whose outputs are the new parameter and state,
// meant to be written in place. Rules and defaults are Keras's.
#pragma once

#include <span>
#include <vector>

#include "graph/builder.h"
#include "ops/update/update_form.h"

namespace plimsoll::ops {

std::span<const graph::OpDef* const> update_ops();

// The learning rate is a scalar of the parameter's dtype, the step an i64
// scalar: the number of this update, counted from 1. A gate, where there is
// one, is a scalar of the same dtype: gradients are multiplied by it, and 0
// leaves parameter and states as they are, whatever the gradient holds.
struct UpdateInputs {
  graph::ValueId parameter;
  graph::ValueId gradient;
  std::vector<graph::ValueId> states;
  graph::ValueId rate;
  graph::ValueId step;  // read where the rule has one
  graph::ValueId gate = {};
};

// All of them in the order of the op's inputs.
std::vector<graph::ValueId> update_operands(const UpdateForm& form,
                                            const UpdateInputs& inputs);

// The new parameter and the new states; empty after a mistake. Attributes and
// states, g being the gradient, t the step:
//   sgd           p - rate * g
//   sgd_momentum  v' = momentum * v - rate * g; p + v'
//   sgd_nesterov  as before; p + momentum * v' - rate * g
//   adam          m' = m + (g - m)(1 - beta_1); v' = v + (g^2 - v)(1 - beta_2);
//                 p - rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) *
//                 m' / (sqrt(v') + epsilon)
//   adamw         as adam, of p first shrunk by rate * weight_decay of itself
//   rmsprop       v' = rho * v + (1 - rho) g^2; p - rate * g / sqrt(v' +
//   epsilon)
//   ..._momentum  m behind v: m' = momentum * m + that step; p - m'
//   ..._centered  a last: a' = rho * a + (1 - rho) g; v' - a'^2 under the root
//   adagrad       a' = a + g^2; p - rate * g / sqrt(a' + epsilon)
//   lamb          m', v' as adam; instead of a parameter it gives the change
//                 before its trust ratio, 0 behind a closed gate:
//                 rate * (m'' / (sqrt(v'') + epsilon) + weight_decay * p), with
//                 m'' = m' / (1 - beta_1^t) and v'' = v' / (1 - beta_2^t)
std::vector<graph::ValueId> emit_update(graph::Builder& builder,
                                        const UpdateForm& form,
                                        const UpdateInputs& inputs,
                                        graph::Attrs attrs);
graph::ValueId sgd(graph::Builder& builder, graph::ValueId parameter,
                   graph::ValueId gradient, graph::ValueId rate,
                   graph::ValueId gate = {});

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
