#include "ops/update/update.h"

#include <fmt/core.h>

#include <array>

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::Builder;
using graph::TensorType;
using graph::TypeList;
using graph::ValueId;

Error mistake(std::string_view op, std::span<const TensorType> inputs,
              std::string_view right) {
  std::string given;
  for (const TensorType& type : inputs) {
    given += (given.empty() ? "" : ", ") + type.to_string();
  }
  return {ErrorCode::bad_input,
          fmt::format("{}({}): expected {}", op, given, right)};
}

// `Tensors` of the parameter's type, the rate and, where `Step`, the counter.
// All tensors but the gradient come out again.
template <std::size_t Tensors, bool Step>
Result<TypeList> infer_update(std::span<const TensorType> inputs,
                              const Attrs&) {
  bool right = inputs.size() == Tensors + (Step ? 2 : 1);
  if (right) {
    const TensorType& type = inputs[0];
    right = is_trainable(type.dtype) && type.shape.is_fixed() &&
            inputs[Tensors] == TensorType{type.dtype, Shape{}};
    for (std::size_t i = 1; i < Tensors; ++i) {
      right = right && inputs[i] == type;
    }
    if (Step) {
      right = right && inputs[Tensors + 1] == TensorType{DType::i64, Shape{}};
    }
  }
  if (!right) {
    return mistake("update", inputs,
                   fmt::format("{} tensors of the parameter's type, a rate{}",
                               Tensors, Step ? " and an i64 step" : ""));
  }
  return TypeList(Tensors - 1, inputs[0]);
}

graph::Cost cost_update(std::span<const TensorType> inputs,
                        std::span<const TensorType> outputs, const Attrs&) {
  graph::Cost cost;
  for (const TensorType& type : inputs) {
    cost.bytes += static_cast<double>(type.bytes());
  }
  for (const TensorType& type : outputs) {
    cost.bytes += static_cast<double>(type.bytes());
  }
  cost.flops = 4.0 * static_cast<double>(outputs.size()) *
               static_cast<double>(inputs[0].shape.elements());
  return cost;
}

Result<TypeList> infer_increment(std::span<const TensorType> inputs,
                                 const Attrs&) {
  if (inputs.size() != 1 || inputs[0] != TensorType{DType::i64, Shape{}}) {
    return mistake("increment", inputs, "an i64 scalar");
  }
  return TypeList{inputs[0]};
}

Result<TypeList> infer_accumulate(std::span<const TensorType> inputs,
                                  const Attrs&) {
  if (inputs.size() != 2 || inputs[0] != TensorType{DType::f64, Shape{}} ||
      !is_trainable(inputs[1].dtype) || inputs[1].shape.rank() != 0) {
    return mistake("accumulate", inputs, "an f64 scalar and an f32 or f64 one");
  }
  return TypeList{inputs[0]};
}

using InferFn = decltype(graph::OpDef::infer);

graph::OpDef make_op(std::string_view name, InferFn infer,
                     std::vector<graph::InPlace> in_place) {
  graph::OpDef op;
  op.name = name;
  op.infer = infer;
  op.cost = cost_update;
  op.in_place = std::move(in_place);
  // What an update reads is overwritten: it cannot be run a second time.
  op.recomputable = false;
  return op;
}

struct Ops {
  graph::OpDef sgd = make_op("sgd", infer_update<2, false>, {{0, 0}});
  graph::OpDef momentum =
      make_op("sgd_momentum", infer_update<3, false>, {{0, 0}, {2, 1}});
  graph::OpDef adam =
      make_op("adam", infer_update<4, true>, {{0, 0}, {2, 1}, {3, 2}});
  graph::OpDef adamw =
      make_op("adamw", infer_update<4, true>, {{0, 0}, {2, 1}, {3, 2}});
  graph::OpDef increment = make_op("increment", infer_increment, {{0, 0}});
  graph::OpDef accumulate = make_op("accumulate", infer_accumulate, {{0, 0}});
};

const Ops& update_definitions() {
  static const Ops ops;
  return ops;
}

Attrs attrs_of(const AdamSettings& settings) {
  return {{"beta_1", settings.beta_1},
          {"beta_2", settings.beta_2},
          {"epsilon", settings.epsilon}};
}

AdamUpdate emit_adam(Builder& builder, const graph::OpDef& op,
                     std::vector<ValueId> inputs, Attrs attrs) {
  const auto out = builder.emit_all(op, std::move(inputs), std::move(attrs));
  return out.empty() ? AdamUpdate{} : AdamUpdate{out[0], out[1], out[2]};
}

}  // namespace

std::span<const graph::OpDef* const> update_ops() {
  static const Ops& ops = update_definitions();
  static const std::array<const graph::OpDef*, 6> all = {
      &ops.sgd,   &ops.momentum,  &ops.adam,
      &ops.adamw, &ops.increment, &ops.accumulate};
  return all;
}

ValueId sgd(Builder& builder, ValueId parameter, ValueId gradient,
            ValueId rate) {
  return builder.emit(update_definitions().sgd, {parameter, gradient, rate});
}

MomentumUpdate sgd_momentum(Builder& builder, ValueId parameter,
                            ValueId gradient, ValueId velocity, ValueId rate,
                            double momentum) {
  const auto out = builder.emit_all(update_definitions().momentum,
                                    {parameter, gradient, velocity, rate},
                                    {{"momentum", momentum}});
  return out.empty() ? MomentumUpdate{} : MomentumUpdate{out[0], out[1]};
}

AdamUpdate adam(Builder& builder, ValueId parameter, ValueId gradient,
                ValueId first_moment, ValueId second_moment, ValueId rate,
                ValueId step, const AdamSettings& settings) {
  return emit_adam(
      builder, update_definitions().adam,
      {parameter, gradient, first_moment, second_moment, rate, step},
      attrs_of(settings));
}

AdamUpdate adamw(Builder& builder, ValueId parameter, ValueId gradient,
                 ValueId first_moment, ValueId second_moment, ValueId rate,
                 ValueId step, double weight_decay,
                 const AdamSettings& settings) {
  Attrs attrs = attrs_of(settings);
  attrs.set("weight_decay", weight_decay);
  return emit_adam(
      builder, update_definitions().adamw,
      {parameter, gradient, first_moment, second_moment, rate, step},
      std::move(attrs));
}

ValueId increment(Builder& builder, ValueId counter) {
  return builder.emit(update_definitions().increment, {counter});
}

ValueId accumulate(Builder& builder, ValueId total, ValueId value) {
  return builder.emit(update_definitions().accumulate, {total, value});
}

}  // namespace plimsoll::ops
