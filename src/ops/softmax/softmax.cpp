#include "ops/softmax/softmax.h"

#include <fmt/core.h>

#include <array>

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::Cost;
using graph::OpDef;
using graph::TensorType;
using graph::TypeList;
using graph::ValueId;

Result<TypeList> infer_softmax(std::span<const TensorType> inputs,
                               const Attrs&) {
  if (inputs.size() != 1 || inputs[0].shape.rank() < 1) {
    return Error{ErrorCode::bad_input,
                 "softmax takes one input of at least one axis"};
  }
  return TypeList{inputs[0]};
}

Result<TypeList> infer_softmax_grad(std::span<const TensorType> inputs,
                                    const Attrs&) {
  if (inputs.size() != 2 || inputs[0].shape.rank() < 1 ||
      !(inputs[0] == inputs[1])) {
    return Error{ErrorCode::bad_input,
                 "softmax_grad takes dy and y of one type"};
  }
  return TypeList{inputs[0]};
}

Cost softmax_cost(std::span<const TensorType> inputs,
                  std::span<const TensorType> outputs, const Attrs&) {
  return {.flops = 20 * static_cast<double>(outputs[0].shape.elements()),
          .bytes = bytes_of(inputs) + bytes_of(outputs)};
}

Result<std::vector<ValueId>> softmax_gradient(graph::GradientContext& context) {
  const ValueId y = context.builder.graph().node(context.node).outputs[0];
  return std::vector{
      softmax_grad(context.builder, context.output_gradients[0], y)};
}

const OpDef& softmax_op() {
  static const OpDef op = {
      .name = "softmax",
      .infer = infer_softmax,
      .cost = softmax_cost,
      .gradient = softmax_gradient,
      .in_place = {{0, 0}},
  };
  return op;
}

const OpDef& softmax_grad_op() {
  static const OpDef op = {
      .name = "softmax_grad",
      .infer = infer_softmax_grad,
      .cost = softmax_cost,
      .in_place = {{0, 0}, {1, 0}},
  };
  return op;
}

}  // namespace

ValueId softmax(graph::Builder& builder, ValueId x) {
  return builder.emit(softmax_op(), {x});
}

ValueId softmax_grad(graph::Builder& builder, ValueId dy, ValueId y) {
  return builder.emit(softmax_grad_op(), {dy, y});
}

std::span<const OpDef* const> softmax_ops() {
  static const std::array<const OpDef*, 2> ops = {&softmax_op(),
                                                  &softmax_grad_op()};
  return ops;
}

}  // namespace plimsoll::ops
