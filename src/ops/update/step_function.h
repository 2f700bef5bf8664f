// Scalars that follow from the step alone: schedules of the learning rate, with
// Keras's names and formulas, and powers.
#pragma once

#include <optional>
#include <vector>

#include "graph/builder.h"

namespace plimsoll::ops {

// Attributes: "function", its numbers by Keras's names, and "dtype" (f32 or
// f64) of the result. With s the step:
//   power               max(s, 1) ^ exponent
//   exponential_decay   initial_learning_rate * decay_rate ^ (s / decay_steps)
//   inverse_time_decay  initial / (1 + decay_rate * s / decay_steps)
//                       `staircase`: of both, s / decay_steps rounded down
//   polynomial_decay    from initial to end_learning_rate by (1 - share)^power;
//                       `cycle`: decay_steps doubles, trebles, ... where it
//                       ends
//   cosine_decay        from initial to alpha times it by half a cosine; with a
//                       warmup_target first a line up to that in warmup_steps
//   piecewise_constant  values[i] up to and with step boundaries[i]
struct StepFunction {
  enum class Kind {
    power,
    exponential_decay,
    inverse_time_decay,
    polynomial_decay,
    cosine_decay,
    piecewise_constant
  };
  Kind kind = Kind::power;
  double exponent = 1;
  double initial = 0;
  double decay_steps = 1;
  double decay_rate = 1;
  bool staircase = false;
  double end = 0;
  double power = 1;
  bool cycle = false;
  double alpha = 0;
  double warmup_target = 0;  // 0: there is no warm-up
  double warmup_steps = 0;
  std::vector<double> boundaries;
  std::vector<double> values;

  // Empty where they say none, or one that is nowhere defined.
  static std::optional<StepFunction> of(const graph::Attrs& attrs);
  double at(double step) const noexcept;
};

const graph::OpDef& step_function_op();

// `step` is an i64 scalar.
graph::ValueId step_function(graph::Builder& builder, graph::ValueId step,
                             DType dtype, graph::Attrs attrs);

}  // namespace plimsoll::ops
