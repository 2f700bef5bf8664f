// Layers of several inputs.
#include <fmt/core.h>

#include "ops/elementwise/elementwise.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/join.h"
#include "ops/reduction/reduction.h"
#include "train/layers/layer_def.h"

namespace plimsoll {
namespace train {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr LayerKey kConcatenateKeys[] = {
    {.key = "axis",
     .field = &Layer::axis,
     .integers = {.least = -8, .most = 8}},
};
constexpr LayerKey kDotKeys[] = {
    {.key = "axes",
     .field = &Layer::axes,
     .integers = {.least = -2, .most = 2}},
};

std::string shapes_of(const LayerContext& context) {
  std::string text;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    text += (i == 0 ? "" : " and ") + context.shape(i).to_string();
  }
  return text;
}

Status check_equal(const LayerContext& context) {
  for (std::size_t i = 1; i < context.inputs.size(); ++i) {
    if (context.shape(i) == context.shape()) continue;
    return context.wrong(fmt::format("{} needs inputs of one shape, not {}",
                                     context.layer.type, shapes_of(context)));
  }
  return {};
}

template <ValueId (*join)(Builder&, ValueId, ValueId)>
Result<LayerResult> build_joined(LayerContext& context) {
  PLIMSOLL_RETURN_IF_ERROR(check_equal(context));
  ValueId value = context.x();
  for (std::size_t i = 1; i < context.inputs.size(); ++i) {
    value = join(context.builder, value, context.inputs[i]);
  }
  return LayerResult(value);
}

Result<LayerResult> build_average(LayerContext& context) {
  PLIMSOLL_ASSIGN(const LayerResult sum, build_joined<ops::add>(context));
  return LayerResult(
      ops::multiply_scalar(context.builder, sum.value,
                           1.0 / static_cast<double>(context.inputs.size())));
}

Result<LayerResult> build_concatenate(LayerContext& context) {
  const std::int64_t axis = context.layer.axis;
  const int rank = context.shape().rank();
  if (axis == 0 || axis <= -rank || axis >= rank) {
    return context.wrong(fmt::format(
        "axis: concatenate joins an axis of {} other than the batch, not {}",
        context.shape().to_string(), axis));
  }
  return LayerResult(ops::concat(context.builder, context.inputs, axis));
}

// [B, D] . [B, D] -> [B, 1], or of [B, ., .] the products of rows or columns.
Result<LayerResult> build_dot(LayerContext& context) {
  Builder& builder = context.builder;
  const int rank = context.shape().rank();
  const auto axis = [&](std::size_t i) {
    const std::int64_t stated = context.layer.axes[i];
    return static_cast<int>(stated < 0 ? stated + rank : stated);
  };
  const bool ranks =
      rank == context.shape(1).rank() && (rank == 2 || rank == 3);
  if (!ranks || axis(0) < 1 || axis(1) < 1 || axis(0) >= rank ||
      axis(1) >= rank ||
      context.shape(0).extent(axis(0)) != context.shape(1).extent(axis(1))) {
    return context.wrong(fmt::format(
        "dot needs two inputs [B, n] or [B, m, n] and axes of one extent, not "
        "the axes {} and {} of {}",
        context.layer.axes[0], context.layer.axes[1], shapes_of(context)));
  }
  const ValueId a = context.inputs[0];
  const ValueId b = context.inputs[1];
  if (rank == 2) {
    return LayerResult(
        ops::reduce_sum(builder, ops::multiply(builder, a, b), {-1}, true));
  }
  return LayerResult(ops::matmul(builder, a, b, axis(0) == 1, axis(1) == 2));
}

}  // namespace

const LayerDef kAdd = {.type = "add",
                       .build = build_joined<ops::add>,
                       .least_inputs = 2,
                       .most_inputs = kAnyNumber};
const LayerDef kSubtract = {.type = "subtract",
                            .build = build_joined<ops::subtract>,
                            .least_inputs = 2,
                            .most_inputs = 2};
const LayerDef kMultiply = {.type = "multiply",
                            .build = build_joined<ops::multiply>,
                            .least_inputs = 2,
                            .most_inputs = kAnyNumber};
const LayerDef kAverage = {.type = "average",
                           .build = build_average,
                           .least_inputs = 2,
                           .most_inputs = kAnyNumber};
const LayerDef kMaximum = {.type = "maximum",
                           .build = build_joined<ops::maximum>,
                           .least_inputs = 2,
                           .most_inputs = kAnyNumber};
const LayerDef kMinimum = {.type = "minimum",
                           .build = build_joined<ops::minimum>,
                           .least_inputs = 2,
                           .most_inputs = kAnyNumber};
const LayerDef kConcatenate = {.type = "concatenate",
                               .keys = kConcatenateKeys,
                               .build = build_concatenate,
                               .least_inputs = 2,
                               .most_inputs = kAnyNumber,
                               .indices = LayerDef::Indices::passed_on};
const LayerDef kDot = {.type = "dot",
                       .keys = kDotKeys,
                       .build = build_dot,
                       .least_inputs = 2,
                       .most_inputs = 2};

}  // namespace train

Layer Add() { return train::make_layer("add"); }
Layer Subtract() { return train::make_layer("subtract"); }
Layer Multiply() { return train::make_layer("multiply"); }
Layer Average() { return train::make_layer("average"); }
Layer Maximum() { return train::make_layer("maximum"); }
Layer Minimum() { return train::make_layer("minimum"); }

Layer Concatenate(std::int64_t axis) {
  Layer layer = train::make_layer("concatenate");
  layer.axis = axis;
  return layer;
}

Layer Dot(Size2 axes) {
  Layer layer = train::make_layer("dot");
  layer.axes = axes;
  return layer;
}

}  // namespace plimsoll
