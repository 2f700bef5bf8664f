#include "ops/update/update.h"

#include <fmt/core.h>

#include "ops/update/step_function.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::Builder;
using graph::TensorType;
using graph::TypeList;
using graph::ValueId;

Error mistake(std::string_view op, std::span<const TensorType> inputs,
              std::string_view right) {
  return {ErrorCode::bad_input, fmt::format("{}({}): expected {}", op,
                                            graph::to_string(inputs), right)};
}

// `Tensors` of the parameter's type, the rate, where `Step` the counter, and
// perhaps a gate. All tensors but the gradient come out again.
template <std::size_t Tensors, bool Step>
Result<TypeList> infer_update(std::span<const TensorType> inputs,
                              const Attrs&) {
  constexpr std::size_t kGate = Tensors + (Step ? 2 : 1);
  bool right = inputs.size() == kGate || inputs.size() == kGate + 1;
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
    right = right && (inputs.size() == kGate ||
                      inputs[kGate] == TensorType{type.dtype, Shape{}});
  }
  if (!right) {
    return mistake("update", inputs,
                   fmt::format("{} tensors of the parameter's type, a rate{} "
                               "and perhaps a gate",
                               Tensors, Step ? ", an i64 step" : ""));
  }
  return TypeList(Tensors - 1, inputs[0]);
}

graph::Cost cost_update(std::span<const TensorType> inputs,
                        std::span<const TensorType> outputs, const Attrs&) {
  graph::Cost cost;
  cost.bytes = bytes_of(inputs) + bytes_of(outputs);
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

Result<TypeList> infer_all_finite(std::span<const TensorType> inputs,
                                  const Attrs&) {
  if (inputs.size() != 1 || !is_floating(inputs[0].dtype)) {
    return mistake("all_finite", inputs, "one tensor of a floating type");
  }
  return TypeList{{wide_dtype(inputs[0].dtype), Shape{}}};
}

Result<TypeList> infer_scale_step(std::span<const TensorType> inputs,
                                  const Attrs& attrs) {
  const TensorType counter{DType::i64, Shape{}};
  if (inputs.size() != 4 || !is_trainable(inputs[0].dtype) ||
      inputs[0].shape.rank() != 0 || inputs[1] != counter ||
      inputs[2] != counter || inputs[3] != inputs[0] ||
      attrs.get<std::int64_t>("growth_steps") < 1) {
    return mistake("scale_step", inputs,
                   "a scale, an f32 or f64 scalar, two i64 counters, a flag of "
                   "the scale's type, and growth_steps of at least 1");
  }
  return TypeList{inputs[0], counter, counter, inputs[0]};
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

InferFn infer_of(const UpdateForm& form) {
  if (form.step) return infer_update<4, true>;
  constexpr InferFn kByStates[] = {
      infer_update<2, false>, infer_update<3, false>, infer_update<4, false>,
      infer_update<5, false>};
  return kByStates[form.states];
}

graph::OpDef make_update(const UpdateForm& form) {
  // What LAMB gives first stands for the gradient: the parameter is read again.
  const int replaced = form.rule == UpdateRule::lamb ? 1 : 0;
  std::vector<graph::InPlace> in_place = {{replaced, 0}};
  for (int k = 0; k < form.states; ++k) in_place.push_back({k + 2, k + 1});
  return make_op(form.op, infer_of(form), std::move(in_place));
}

std::vector<graph::OpDef> make_updates() {
  std::vector<graph::OpDef> made;
  for (const UpdateForm& form : kUpdateForms) made.push_back(make_update(form));
  return made;
}

struct Ops {
  std::vector<graph::OpDef> updates = make_updates();
  graph::OpDef increment = make_op("increment", infer_increment, {{0, 0}});
  graph::OpDef accumulate = make_op("accumulate", infer_accumulate, {{0, 0}});
  graph::OpDef all_finite = make_op("all_finite", infer_all_finite, {});
  graph::OpDef scale_step =
      make_op("scale_step", infer_scale_step, {{0, 0}, {1, 1}, {2, 2}});
};

const Ops& update_definitions() {
  static const Ops ops;
  return ops;
}

std::vector<const graph::OpDef*> collect() {
  static const Ops& ops = update_definitions();
  std::vector<const graph::OpDef*> all;
  for (const graph::OpDef& op : ops.updates) all.push_back(&op);
  all.insert(all.end(), {&ops.increment, &ops.accumulate, &ops.all_finite,
                         &ops.scale_step, &step_function_op()});
  return all;
}

}  // namespace

std::span<const graph::OpDef* const> update_ops() {
  static const std::vector<const graph::OpDef*> all = collect();
  return all;
}

std::vector<ValueId> update_operands(const UpdateForm& form,
                                     const UpdateInputs& inputs) {
  std::vector<ValueId> operands = {inputs.parameter, inputs.gradient};
  operands.insert(operands.end(), inputs.states.begin(), inputs.states.end());
  operands.push_back(inputs.rate);
  if (form.step) operands.push_back(inputs.step);
  if (inputs.gate.valid()) operands.push_back(inputs.gate);
  return operands;
}

std::vector<ValueId> emit_update(Builder& builder, const UpdateForm& form,
                                 const UpdateInputs& inputs, Attrs attrs) {
  return builder.emit_all(
      update_definitions().updates[static_cast<std::size_t>(form.rule)],
      update_operands(form, inputs), std::move(attrs));
}

ValueId sgd(Builder& builder, ValueId parameter, ValueId gradient, ValueId rate,
            ValueId gate) {
  const auto out = emit_update(builder, update_form(UpdateRule::sgd),
                               {parameter, gradient, {}, rate, {}, gate}, {});
  return out.empty() ? ValueId() : out[0];
}

ValueId increment(Builder& builder, ValueId counter) {
  return builder.emit(update_definitions().increment, {counter});
}

ValueId accumulate(Builder& builder, ValueId total, ValueId value) {
  return builder.emit(update_definitions().accumulate, {total, value});
}

ValueId all_finite(Builder& builder, ValueId x) {
  return builder.emit(update_definitions().all_finite, {x});
}

ScaledStep scale_step(Builder& builder, const LossScaling& now, ValueId finite,
                      std::int64_t growth_steps) {
  const auto out =
      builder.emit_all(update_definitions().scale_step,
                       {now.scale, now.good_steps, now.step, finite},
                       {{"growth_steps", growth_steps}});
  if (out.empty()) return {};
  return {{out[0], out[1], out[2]}, out[3]};
}

}  // namespace plimsoll::ops
