#include "ops/movement/expand.h"

#include <fmt/core.h>

#include "ops/elementwise/elementwise.h"
#include "ops/movement/axis_of.h"
#include "ops/movement/movement.h"

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

Error bad(std::string_view op, const TensorType& type, std::string_view why) {
  return {ErrorCode::bad_input,
          fmt::format("{} of {}: {}", op, type.to_string(), why)};
}

Result<TypeList> infer_expand(std::span<const TensorType> inputs,
                              const Attrs& attrs) {
  if (inputs.size() != 1) {
    return Error{ErrorCode::bad_input, "expand takes one operand"};
  }
  const auto shape = attrs.get<Shape>("shape");
  const auto both = broadcast(inputs[0].shape, shape);
  if (!both || !(*both == shape)) {
    return bad("expand", inputs[0],
               fmt::format("does not broadcast to {}: each axis, from the "
                           "last, must be equal or of extent 1",
                           shape.to_string()));
  }
  return TypeList{{inputs[0].dtype, shape}};
}

Cost expand_cost(std::span<const TensorType> inputs,
                 std::span<const TensorType> outputs, const Attrs&) {
  return {0, double(inputs[0].bytes()) + double(outputs[0].bytes())};
}

Result<std::vector<ValueId>> expand_gradient(GradientContext& context) {
  const graph::Graph& graph = context.builder.graph();
  const TensorType type = graph.type(graph.node(context.node).inputs[0]);
  return std::vector{
      sum_to(context.builder, context.output_gradients[0], type)};
}

}  // namespace

const OpDef& expand_op() {
  static const OpDef op = {
      .name = "expand",
      .infer = infer_expand,
      .cost = expand_cost,
      .gradient = expand_gradient,
  };
  return op;
}

ValueId expand(Builder& builder, ValueId a, Shape shape) {
  if (!a.valid() || !builder.ok()) {
    return builder.emit(expand_op(), {a}, {{"shape", std::move(shape)}});
  }
  const TensorType type = builder.type(a);
  if (type.shape == shape) return a;
  if (is_floating(type.dtype) &&
      infer_expand(std::vector{type}, {{"shape", shape}})) {
    return broadcast_to(builder, a, std::move(shape));
  }
  return builder.emit(expand_op(), {a}, {{"shape", std::move(shape)}});
}

ValueId expand_dims(Builder& builder, ValueId a, std::int64_t axis) {
  if (!a.valid() || !builder.ok()) return reshape(builder, a, {});
  const TensorType type = builder.type(a);
  const auto at = axis_of(type.shape.rank() + 1, axis);
  if (!at) {
    builder.fail(bad("expand_dims", type,
                     fmt::format("the result has no axis {}", axis)));
    return {};
  }
  std::vector<Dim> dims = type.shape.dims();
  dims.insert(dims.begin() + *at, Dim(1));
  return reshape(builder, a, Shape(std::move(dims)));
}

ValueId squeeze(Builder& builder, ValueId a, std::vector<std::int64_t> axes) {
  if (!a.valid() || !builder.ok()) return reshape(builder, a, {});
  const TensorType type = builder.type(a);
  std::vector<bool> leaves(type.shape.dims().size(), false);
  for (const std::int64_t axis : axes) {
    const auto at = axis_of(type.shape.rank(), axis);
    if (!at || !(type.shape[*at] == Dim(1))) {
      builder.fail(bad("squeeze", type,
                       fmt::format("axis {} is not of extent 1", axis)));
      return {};
    }
    leaves[static_cast<std::size_t>(*at)] = true;
  }
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i]) dims.push_back(type.shape.dims()[i]);
  }
  return reshape(builder, a, Shape(std::move(dims)));
}

}  // namespace plimsoll::ops
