#include "train/clipping.h"

#include "ops/elementwise/elementwise.h"
#include "ops/reduction/reduction.h"

namespace plimsoll::train {
namespace {

using graph::Builder;
using graph::ValueId;

class Clipping {
 public:
  Clipping(Builder& builder, const OptimizerSpec& optimizer, ValueId gate)
      : builder_(builder), optimizer_(optimizer), gate_(gate) {}

  // Of a table this is the whole gradient, as a norm's would be.
  ClippedGradient by_value(const Parameter& parameter, ValueId gradient) {
    enter(parameter);
    const double most = optimizer_.clipvalue;
    const ValueId clipped =
        ops::clip(builder_, unscaled(gradient), -most, most);
    if (!gate_.valid() || !builder_.ok()) return {clipped, {}};
    // The scale is out: what is left of the gate is open or closed.
    const ValueId one = ops::constant(builder_, builder_.type(gate_), 1);
    return {clipped, ops::where(builder_, gate_, one, gate_)};
  }

  ValueId sum_of_squares(const Parameter& parameter, ValueId gradient) {
    enter(parameter);
    return ops::reduce_sum(builder_, ops::square(builder_, unscaled(gradient)),
                           {});
  }

  // The gate times most / max(norm, most). Closed, it stays closed: the norm
  // may then be anything.
  ValueId gate_of(ValueId squares, double most) {
    if (!builder_.ok()) return {};
    const ValueId norm =
        ops::maximum_scalar(builder_, ops::sqrt(builder_, squares), most);
    if (!builder_.ok()) return {};
    const ValueId scale = ops::divide(
        builder_, ops::constant(builder_, builder_.type(norm), most), norm);
    if (!gate_.valid()) return scale;
    return ops::where(builder_, gate_, ops::multiply(builder_, gate_, scale),
                      gate_);
  }

 private:
  void enter(const Parameter& parameter) {
    builder_.set_scope(parameter.name);
    builder_.set_place(builder_.graph().place_of(parameter.value));
  }
  ValueId unscaled(ValueId gradient) {
    return gate_.valid() ? ops::multiply(builder_, gradient, gate_) : gradient;
  }

  Builder& builder_;
  const OptimizerSpec& optimizer_;
  ValueId gate_;
};

}  // namespace

Result<std::vector<ClippedGradient>> clip_gradients(
    Builder& builder, const OptimizerSpec& optimizer,
    std::span<const Parameter> parameters, std::span<const ValueId> gradients,
    ValueId gate) {
  Clipping clipping(builder, optimizer, gate);
  std::vector<ClippedGradient> clipped;
  ValueId total;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    ClippedGradient one{gradients[i], gate};
    if (optimizer.clipvalue > 0) {
      one = clipping.by_value(parameters[i], gradients[i]);
    } else if (optimizer.clipnorm > 0) {
      one.gate =
          clipping.gate_of(clipping.sum_of_squares(parameters[i], gradients[i]),
                           optimizer.clipnorm);
    } else if (optimizer.global_clipnorm > 0) {
      const ValueId squares =
          clipping.sum_of_squares(parameters[i], gradients[i]);
      builder.set_place(graph::Place::home);
      total = total.valid() ? ops::add(builder, total, squares) : squares;
    }
    builder.set_place(graph::Place::home);
    clipped.push_back(one);
  }
  if (total.valid()) {
    builder.set_scope("global_norm");
    const ValueId shared = clipping.gate_of(total, optimizer.global_clipnorm);
    for (ClippedGradient& one : clipped) one.gate = shared;
  }
  if (!builder.ok()) return builder.status().error();
  return clipped;
}

}  // namespace plimsoll::train
