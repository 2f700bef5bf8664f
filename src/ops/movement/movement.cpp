#include "ops/movement/movement.h"

#include <fmt/core.h>

#include <array>
#include <string>

#include "ops/movement/expand.h"
#include "ops/movement/join.h"
#include "ops/movement/pack.h"
#include "ops/movement/window.h"

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
using Gradients = Result<std::vector<ValueId>>;

Cost moves_bytes(std::span<const TensorType> inputs,
                 std::span<const TensorType> outputs, const Attrs&) {
  return {0, double(inputs[0].bytes()) + double(outputs[0].bytes())};
}

Cost moves_nothing(std::span<const TensorType>, std::span<const TensorType>,
                   const Attrs&) {
  return {};
}

Error bad(std::string_view op, std::span<const TensorType> inputs,
          std::string_view why) {
  return {ErrorCode::bad_input,
          fmt::format("{}({}): {}", op,
                      inputs.empty() ? "" : inputs[0].to_string(), why)};
}

Gradients one(const Builder& builder, ValueId gradient) {
  if (!builder.ok()) return builder.status().error();
  return std::vector<ValueId>{gradient};
}

const TensorType& input_type(GradientContext& context) {
  const graph::Graph& graph = context.builder.graph();
  return graph.type(graph.node(context.node).inputs[0]);
}

Result<TypeList> infer_reshape(std::span<const TensorType> inputs,
                               const Attrs& attrs) {
  if (inputs.size() != 1) return bad("reshape", inputs, "takes one operand");
  const auto shape = attrs.get<Shape>("shape");
  if (!inputs[0].shape.same_elements(shape)) {
    return bad(
        "reshape", inputs,
        fmt::format("{} has another number of elements", shape.to_string()));
  }
  return TypeList{{inputs[0].dtype, shape}};
}

Gradients reshape_gradient(GradientContext& context) {
  const Shape shape = input_type(context).shape;
  return one(context.builder,
             reshape(context.builder, context.output_gradients[0], shape));
}

Result<TypeList> infer_transpose(std::span<const TensorType> inputs,
                                 const Attrs& attrs) {
  if (inputs.size() != 1) return bad("transpose", inputs, "takes one operand");
  const auto perm = attrs.get<std::vector<std::int64_t>>("perm");
  const auto rank = static_cast<std::int64_t>(inputs[0].shape.rank());
  std::vector<bool> seen(perm.size(), false);
  std::vector<Dim> dims;
  for (const std::int64_t axis : perm) {
    if (axis < 0 || axis >= rank || axis >= std::ssize(perm) ||
        seen[static_cast<std::size_t>(axis)]) {
      return bad("transpose", inputs, "perm must name each axis once");
    }
    seen[static_cast<std::size_t>(axis)] = true;
    dims.push_back(inputs[0].shape[static_cast<int>(axis)]);
  }
  if (std::ssize(perm) != rank) {
    return bad("transpose", inputs, "perm must name each axis once");
  }
  return TypeList{{inputs[0].dtype, Shape(std::move(dims))}};
}

Gradients transpose_gradient(GradientContext& context) {
  const auto perm = context.builder.graph()
                        .node(context.node)
                        .attrs.get<std::vector<std::int64_t>>("perm");
  std::vector<std::int64_t> inverse(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) {
    inverse[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  }
  return one(context.builder,
             transpose(context.builder, context.output_gradients[0],
                       std::move(inverse)));
}

Result<TypeList> infer_cast(std::span<const TensorType> inputs,
                            const Attrs& attrs) {
  if (inputs.size() != 1) return bad("cast", inputs, "takes one operand");
  const auto name = attrs.get<std::string>("dtype");
  const auto dtype = parse_dtype(name);
  if (!dtype) {
    return bad("cast", inputs, fmt::format("unknown dtype `{}`", name));
  }
  return TypeList{{*dtype, inputs[0].shape}};
}

Gradients cast_gradient(GradientContext& context) {
  const DType from = input_type(context).dtype;
  const DType to = context.builder.type(context.output_gradients[0]).dtype;
  // Nothing flows through integers.
  if (!is_floating(from) || !is_floating(to)) {
    return std::vector<ValueId>(1);
  }
  return one(context.builder,
             cast(context.builder, context.output_gradients[0], from));
}

Result<TypeList> infer_copy(std::span<const TensorType> inputs, const Attrs&) {
  if (inputs.size() != 1) return bad("copy", inputs, "takes one operand");
  return TypeList{inputs[0]};
}

Gradients copy_gradient(GradientContext& context) {
  return std::vector<ValueId>{context.output_gradients[0]};
}

OpDef define(std::string_view name, decltype(OpDef::infer) infer,
             decltype(OpDef::gradient) gradient) {
  OpDef op;
  op.name = name;
  op.infer = infer;
  op.cost = moves_bytes;
  op.gradient = gradient;
  return op;
}

const OpDef& reshape_op() {
  static const OpDef op = [] {
    OpDef view = define("reshape", infer_reshape, reshape_gradient);
    view.cost = moves_nothing;
    view.is_view = true;
    return view;
  }();
  return op;
}

const OpDef& transpose_op() {
  static const OpDef op =
      define("transpose", infer_transpose, transpose_gradient);
  return op;
}

}  // namespace

const OpDef& cast_op() {
  static const OpDef op = [] {
    OpDef made = define("cast", infer_cast, cast_gradient);
    // Between floating types of one width of computation it joins its
    // neighbours: what is written is rounded to the type it is written in.
    made.elementwise = graph::ElementwiseCode::identity;
    return made;
  }();
  return op;
}

const OpDef& copy_op() {
  static const OpDef op = define("copy", infer_copy, copy_gradient);
  return op;
}

std::span<const OpDef* const> movement_ops() {
  static const std::array ops = {&reshape_op(), &transpose_op(), &cast_op(),
                                 &copy_op(),    &concat_op(),    &split_op(),
                                 &slice_op(),   &pad_op(),       &expand_op(),
                                 &pack_op(),    &unpack_op()};
  return ops;
}

ValueId reshape(Builder& builder, ValueId a, Shape shape) {
  if (a.valid() && builder.ok() && builder.type(a).shape == shape) return a;
  return builder.emit(reshape_op(), {a}, {{"shape", std::move(shape)}});
}

ValueId transpose(Builder& builder, ValueId a, std::vector<std::int64_t> perm) {
  return builder.emit(transpose_op(), {a}, {{"perm", std::move(perm)}});
}

ValueId cast(Builder& builder, ValueId a, DType dtype) {
  if (a.valid() && builder.ok() && builder.type(a).dtype == dtype) return a;
  return builder.emit(cast_op(), {a}, {{"dtype", std::string(name_of(dtype))}});
}

ValueId copy(Builder& builder, ValueId a) {
  return builder.emit(copy_op(), {a});
}

}  // namespace plimsoll::ops
