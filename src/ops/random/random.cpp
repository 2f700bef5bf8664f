#include "ops/random/random.h"

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

Result<TypeList> infer_dropout(std::span<const TensorType> inputs,
                               const Attrs& attrs) {
  if (inputs.size() != 2 || !(inputs[1] == TensorType{DType::i64, Shape{}})) {
    return Error{ErrorCode::bad_input,
                 "dropout takes x and the random step, an i64 scalar"};
  }
  const double rate = attrs.get<double>("rate");
  if (!(rate >= 0 && rate < 1)) {
    return Error{ErrorCode::bad_input,
                 fmt::format("dropout's rate {} is not in [0, 1)", rate)};
  }
  return TypeList{inputs[0]};
}

Cost dropout_cost(std::span<const TensorType> inputs,
                  std::span<const TensorType> outputs, const Attrs&) {
  return {.flops = 15 * static_cast<double>(inputs[0].shape.elements()),
          .bytes = static_cast<double>(inputs[0].bytes() + outputs[0].bytes())};
}

// The same mask on the gradient: it is made again, not kept.
Result<std::vector<ValueId>> dropout_gradient(graph::GradientContext& context) {
  const graph::Node node = context.builder.graph().node(context.node);
  return std::vector{
      context.builder.emit(
          *node.op, {context.output_gradients[0], node.inputs[1]}, node.attrs),
      ValueId()};
}

const OpDef& dropout_op() {
  static const OpDef op = {
      .name = "dropout",
      .infer = infer_dropout,
      .cost = dropout_cost,
      .gradient = dropout_gradient,
      .in_place = {{0, 0}},
  };
  return op;
}

}  // namespace

ValueId dropout(graph::Builder& builder, ValueId x, ValueId random_step,
                double rate, std::int64_t seed, std::int64_t op_id) {
  return builder.emit(dropout_op(), {x, random_step},
                      {{"rate", rate}, {"seed", seed}, {"op_id", op_id}});
}

std::span<const OpDef* const> random_ops() {
  static const std::array<const OpDef*, 1> ops = {&dropout_op()};
  return ops;
}

}  // namespace plimsoll::ops
