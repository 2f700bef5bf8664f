#include "train/adafactor.h"

#include <fmt/core.h>

#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reduction/reduction.h"
#include "ops/update/step_function.h"
#include "ops/update/update.h"

namespace plimsoll::train {

using graph::Builder;
using graph::ValueId;

AdafactorUpdates::AdafactorUpdates(Builder& builder,
                                   const OptimizerSpec& optimizer,
                                   const UpdateScalars& scalars)
    : builder_(builder), optimizer_(optimizer) {
  if (!builder.ok()) return;
  builder.set_scope("counters");
  const DType dtype = builder.type(scalars.rate).dtype;
  const auto power = [&](double exponent) {
    return ops::step_function(
        builder, scalars.step, dtype,
        {{"function", std::string("power")}, {"exponent", exponent}});
  };
  rate_ = ops::minimum(builder, scalars.rate, power(-0.5));
  share_ = power(optimizer.beta_2_decay);
  rest_ = ops::add_scalar(builder, ops::negate(builder, share_), 1);
}

ValueId AdafactorUpdates::state(const Parameter& parameter, const char* name,
                                Shape shape) {
  return builder_.state(
      fmt::format("{}/{}", parameter.name, name), graph::Role::optimizer,
      {builder_.type(parameter.value).dtype, std::move(shape)});
}

ValueId AdafactorUpdates::average(ValueId state, ValueId now, ValueId gate) {
  ValueId next = ops::add(builder_, ops::multiply(builder_, state, rest_),
                          ops::multiply(builder_, now, share_));
  if (gate.valid()) next = ops::where(builder_, gate, next, state);
  builder_.assign(state, next);
  return next;
}

// By the last two axes' factors, a row's and a column's, one after the other:
// their product is 0 in f32 where neither has seen a gradient.
ValueId AdafactorUpdates::direction(const Parameter& parameter,
                                    ValueId gradient, ValueId squares,
                                    ValueId gate) {
  const Shape shape = builder_.type(parameter.value).shape;
  const int rank = shape.rank();
  if (rank < 2) {
    return ops::divide(
        builder_, gradient,
        ops::sqrt(builder_, average(state(parameter, "second_moment", shape),
                                    squares, gate)));
  }
  std::vector<Dim> row_dims = shape.dims();
  row_dims.pop_back();
  std::vector<Dim> column_dims = row_dims;
  column_dims.back() = shape.dims().back();
  const ValueId rows =
      average(state(parameter, "row_second_moment", Shape(row_dims)),
              ops::reduce_mean(builder_, squares, {-1}), gate);
  const ValueId columns =
      average(state(parameter, "column_second_moment", Shape(column_dims)),
              ops::reduce_mean(builder_, squares, {-2}), gate);
  // Roots first: the quotient of what they are of may be too small as well.
  const ValueId relative = ops::divide(
      builder_, ops::sqrt(builder_, rows),
      ops::sqrt(builder_, ops::reduce_mean(builder_, rows, {-1}, true)));
  row_dims.emplace_back(1);
  column_dims.insert(column_dims.end() - 1, Dim(1));
  const ValueId by_row = ops::divide(
      builder_, gradient, ops::reshape(builder_, relative, Shape(row_dims)));
  return ops::divide(
      builder_, by_row,
      ops::reshape(builder_, ops::sqrt(builder_, columns), Shape(column_dims)));
}

ValueId AdafactorUpdates::root_mean_square(ValueId value) {
  return ops::sqrt(
      builder_, ops::reduce_mean(builder_, ops::square(builder_, value), {}));
}

void AdafactorUpdates::add(const Parameter& parameter,
                           const ClippedGradient& given) {
  if (!builder_.ok()) return;
  const ValueId gate = given.gate;
  const ValueId gradient = gate.valid()
                               ? ops::multiply(builder_, given.gradient, gate)
                               : given.gradient;
  const ValueId squares = ops::add_scalar(
      builder_, ops::square(builder_, gradient), optimizer_.epsilon_1);
  const ValueId change = direction(parameter, gradient, squares, gate);
  const ValueId size = ops::maximum_scalar(
      builder_,
      ops::multiply_scalar(builder_, root_mean_square(change),
                           1 / optimizer_.clip_threshold),
      1);
  const ValueId weight = ops::maximum_scalar(
      builder_, root_mean_square(parameter.value), optimizer_.epsilon_2);
  const ValueId rate =
      ops::divide(builder_, ops::multiply(builder_, rate_, weight), size);
  // The gradient's scale is out: what is left of the gate is open or closed.
  ValueId open;
  if (gate.valid() && builder_.ok()) {
    open = ops::where(builder_, gate,
                      ops::constant(builder_, builder_.type(gate), 1), gate);
  }
  builder_.assign(parameter.value,
                  ops::sgd(builder_, parameter.value, change, rate, open));
}

}  // namespace plimsoll::train
