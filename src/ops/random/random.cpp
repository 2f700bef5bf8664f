#include "ops/random/random.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

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

Error mistake(std::string_view op, std::string_view why) {
  return {ErrorCode::bad_input, fmt::format("{}: {}", op, why)};
}

// A tensor of the attributes' shape and dtype.
Result<TypeList> infer_fill(std::string_view op,
                            std::span<const TensorType> inputs,
                            const Attrs& attrs) {
  if (inputs.size() != 1 || !(inputs[0] == TensorType{DType::i64, Shape{}})) {
    return mistake(op, "takes the random step, an i64 scalar");
  }
  const auto name = attrs.get<std::string>("dtype");
  const auto dtype = parse_dtype(name);
  if (!dtype || !is_floating(*dtype)) {
    return mistake(op,
                   fmt::format("makes f32, f64, bf16 or f16, not `{}`", name));
  }
  const Shape shape = attrs.get<Shape>("shape");
  for (const Dim& dim : shape.dims()) {
    if (dim.size < 0) {
      return mistake(
          op, fmt::format("no tensor has the shape {}", shape.to_string()));
    }
  }
  return TypeList{{*dtype, shape}};
}

Result<TypeList> infer_uniform(std::span<const TensorType> inputs,
                               const Attrs& attrs) {
  const double low = attrs.get<double>("low");
  const double high = attrs.get<double>("high");
  if (!(low < high) || !std::isfinite(high - low)) {
    return mistake("random_uniform",
                   fmt::format("low {} must be less than high {}, both finite",
                               low, high));
  }
  return infer_fill("random_uniform", inputs, attrs);
}

Result<TypeList> infer_normal(std::span<const TensorType> inputs,
                              const Attrs& attrs) {
  const double mean = attrs.get<double>("mean");
  const double deviation = attrs.get<double>("deviation");
  if (!(deviation >= 0) || !std::isfinite(deviation) || !std::isfinite(mean)) {
    return mistake("random_normal",
                   fmt::format("mean {} and deviation {} must be finite, the "
                               "deviation 0 or more",
                               mean, deviation));
  }
  return infer_fill("random_normal", inputs, attrs);
}

template <int kFlops>
Cost fill_cost(std::span<const TensorType>, std::span<const TensorType> outputs,
               const Attrs&) {
  return {.flops = kFlops * static_cast<double>(outputs[0].shape.elements()),
          .bytes = static_cast<double>(outputs[0].bytes())};
}

// Nothing that is differentiated goes into them: they have no gradient.
const OpDef& uniform_op() {
  static const OpDef op = {
      .name = "random_uniform",
      .infer = infer_uniform,
      .cost = fill_cost<15>,
  };
  return op;
}

const OpDef& normal_op() {
  static const OpDef op = {
      .name = "random_normal",
      .infer = infer_normal,
      .cost = fill_cost<50>,
  };
  return op;
}

Attrs fill_attrs(Shape shape, DType dtype, std::int64_t seed,
                 std::int64_t op_id) {
  return {{"shape", std::move(shape)},
          {"dtype", std::string(name_of(dtype))},
          {"seed", seed},
          {"op_id", op_id}};
}

}  // namespace

ValueId dropout(graph::Builder& builder, ValueId x, ValueId random_step,
                double rate, std::int64_t seed, std::int64_t op_id) {
  return builder.emit(dropout_op(), {x, random_step},
                      {{"rate", rate}, {"seed", seed}, {"op_id", op_id}});
}

ValueId random_uniform(graph::Builder& builder, Shape shape, DType dtype,
                       double low, double high, ValueId random_step,
                       std::int64_t seed, std::int64_t op_id) {
  Attrs attrs = fill_attrs(std::move(shape), dtype, seed, op_id);
  attrs.set("low", low);
  attrs.set("high", high);
  return builder.emit(uniform_op(), {random_step}, std::move(attrs));
}

ValueId random_normal(graph::Builder& builder, Shape shape, DType dtype,
                      double mean, double deviation, ValueId random_step,
                      std::int64_t seed, std::int64_t op_id) {
  Attrs attrs = fill_attrs(std::move(shape), dtype, seed, op_id);
  attrs.set("mean", mean);
  attrs.set("deviation", deviation);
  return builder.emit(normal_op(), {random_step}, std::move(attrs));
}

std::span<const OpDef* const> random_ops() {
  static const std::array<const OpDef*, 3> ops = {&dropout_op(), &uniform_op(),
                                                  &normal_op()};
  return ops;
}

}  // namespace plimsoll::ops
