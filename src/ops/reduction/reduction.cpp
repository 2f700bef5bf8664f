#include "ops/reduction/reduction.h"

#include <fmt/core.h>

#include <array>

#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reduction/reduction_axes.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::Builder;
using graph::Cost;
using graph::GradientContext;
using graph::OpDef;
using graph::TensorType;
using graph::TypeList;
using graph::ValueId;
using Axes = std::vector<std::int64_t>;

Result<TypeList> infer_reduction(std::span<const TensorType> inputs,
                                 const Attrs& attrs) {
  if (inputs.size() != 1) {
    return Error{ErrorCode::bad_input, "a reduction takes one input"};
  }
  PLIMSOLL_ASSIGN(const auto axes,
                  reduced_axes(inputs[0].shape, attrs.get<Axes>("axes")));
  DType out = inputs[0].dtype;
  if (attrs.has("out")) {
    if (attrs.get<std::string>("out") != "f32" || !is_floating(out) ||
        out == DType::f64) {
      return Error{
          ErrorCode::bad_input,
          fmt::format("a reduction of {} cannot give {}", inputs[0].to_string(),
                      attrs.get<std::string>("out"))};
    }
    out = DType::f32;
  }
  return TypeList{
      {out, reduced_shape(inputs[0].shape, axes, attrs.get<bool>("keepdims"))}};
}

Result<TypeList> infer_divide_by_count(std::span<const TensorType> inputs,
                                       const Attrs& attrs) {
  if (inputs.size() != 1) {
    return Error{ErrorCode::bad_input, "divide_by_count takes one input"};
  }
  PLIMSOLL_RETURN_IF_ERROR(
      reduced_axes(attrs.get<Shape>("shape"), attrs.get<Axes>("axes")));
  return TypeList{inputs[0]};
}

Cost reduction_cost(std::span<const TensorType> inputs,
                    std::span<const TensorType> outputs, const Attrs&) {
  return {.flops = static_cast<double>(inputs[0].shape.elements()),
          .bytes = static_cast<double>(inputs[0].bytes() + outputs[0].bytes())};
}

// The node's axes, its input, and the incoming gradient with reduced axes
// put back as extent 1.
struct Incoming {
  ValueId x;
  ValueId y;
  Axes axes;
  Shape kept;
  ValueId dy;
};

Result<Incoming> incoming(GradientContext& context) {
  Builder& builder = context.builder;
  // A copy: building nodes moves the graph's own.
  const graph::Node node = builder.graph().node(context.node);
  Incoming in{.x = node.inputs[0],
              .y = node.outputs[0],
              .axes = node.attrs.get<Axes>("axes"),
              .kept = {},
              .dy = context.output_gradients[0]};
  const Shape& shape = builder.type(in.x).shape;
  PLIMSOLL_ASSIGN(const auto axes, reduced_axes(shape, in.axes));
  in.kept = reduced_shape(shape, axes, true);
  in.dy = cast(builder, in.dy, builder.type(in.x).dtype);
  in.y = cast(builder, in.y, builder.type(in.x).dtype);
  return in;
}

ValueId keep_dims(Builder& builder, ValueId value, const Shape& kept) {
  if (!builder.ok() || builder.type(value).shape == kept) return value;
  return reshape(builder, value, kept);
}

ValueId spread(Builder& builder, ValueId value, ValueId like) {
  if (!builder.ok() || builder.type(value).shape == builder.type(like).shape) {
    return value;
  }
  const Shape shape = builder.type(like).shape;
  return broadcast_to(builder, value, shape);
}

Result<std::vector<ValueId>> sum_gradient(GradientContext& context) {
  PLIMSOLL_ASSIGN(const Incoming in, incoming(context));
  Builder& builder = context.builder;
  return std::vector{spread(builder, keep_dims(builder, in.dy, in.kept), in.x)};
}

const OpDef& divide_by_count_op();

// B is not a number yet: the op divides by the count of the fixed shape.
Result<std::vector<ValueId>> mean_gradient(GradientContext& context) {
  PLIMSOLL_ASSIGN(const Incoming in, incoming(context));
  Builder& builder = context.builder;
  const Shape shape = builder.type(in.x).shape;
  const ValueId share = builder.emit(divide_by_count_op(), {in.dy},
                                     {{"axes", in.axes}, {"shape", shape}});
  return std::vector{spread(builder, keep_dims(builder, share, in.kept), in.x)};
}

Result<std::vector<ValueId>> divide_by_count_gradient(
    GradientContext& context) {
  const graph::Node node = context.builder.graph().node(context.node);
  return std::vector{context.builder.emit(
      divide_by_count_op(), {context.output_gradients[0]}, node.attrs)};
}

// Ties share evenly, so that the gradient does not depend on the order.
Result<std::vector<ValueId>> max_gradient(GradientContext& context) {
  PLIMSOLL_ASSIGN(const Incoming in, incoming(context));
  Builder& builder = context.builder;
  const ValueId y = keep_dims(builder, in.y, in.kept);
  const ValueId mask = equal(builder, in.x, spread(builder, y, in.x));
  const ValueId ties = reduce_sum(builder, mask, in.axes, true);
  const ValueId share =
      divide(builder, keep_dims(builder, in.dy, in.kept), ties);
  return std::vector{multiply(builder, mask, spread(builder, share, in.x))};
}

OpDef reduction(std::string_view name, decltype(OpDef::gradient) gradient) {
  OpDef op;
  op.name = name;
  op.infer = infer_reduction;
  op.cost = reduction_cost;
  op.gradient = gradient;
  return op;
}

const OpDef& sum_op() {
  static const OpDef op = reduction("reduce_sum", sum_gradient);
  return op;
}

const OpDef& mean_op() {
  static const OpDef op = reduction("reduce_mean", mean_gradient);
  return op;
}

const OpDef& max_op() {
  static const OpDef op = reduction("reduce_max", max_gradient);
  return op;
}

const OpDef& divide_by_count_op() {
  static const OpDef op = [] {
    OpDef made = reduction("divide_by_count", divide_by_count_gradient);
    made.infer = infer_divide_by_count;
    made.in_place = {{0, 0}};
    return made;
  }();
  return op;
}

ValueId emit(Builder& builder, const OpDef& op, ValueId x, Axes axes,
             bool keepdims) {
  return builder.emit(op, {x},
                      {{"axes", std::move(axes)}, {"keepdims", keepdims}});
}

}  // namespace

ValueId reduce_sum(Builder& builder, ValueId x, Axes axes, bool keepdims) {
  return emit(builder, sum_op(), x, std::move(axes), keepdims);
}

ValueId reduce_mean(Builder& builder, ValueId x, Axes axes, bool keepdims) {
  return emit(builder, mean_op(), x, std::move(axes), keepdims);
}

ValueId reduce_max(Builder& builder, ValueId x, Axes axes, bool keepdims) {
  return emit(builder, max_op(), x, std::move(axes), keepdims);
}

std::span<const OpDef* const> reduction_ops() {
  static const std::array<const OpDef*, 4> ops = {
      &sum_op(), &mean_op(), &max_op(), &divide_by_count_op()};
  return ops;
}

}  // namespace plimsoll::ops
