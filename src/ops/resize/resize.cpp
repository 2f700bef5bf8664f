#include "ops/resize/resize.h"

#include <fmt/core.h>

#include <array>
#include <string>

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

// Extents beyond it would not fit into products of two in i64.
constexpr std::int64_t kMostPixels = std::int64_t{1} << 24;

Result<TypeList> infer(std::string_view op, std::span<const TensorType> inputs,
                       const Attrs& attrs) {
  const auto bad = [&](std::string_view why) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("{} of {}: {}", op,
                    inputs.empty() ? "nothing" : inputs[0].to_string(), why)};
  };
  if (inputs.size() != 1 || inputs[0].shape.rank() != 4) {
    return bad("takes images [B, H, W, C]");
  }
  const Shape& shape = inputs[0].shape;
  const auto method = attrs.get<std::string>("method");
  if (method != "bilinear" && method != "nearest") {
    return bad(fmt::format("unknown method `{}`", method));
  }
  for (int axis = 1; axis < 4; ++axis) {
    if (shape[axis].per_batch) return bad("only the first axis is the batch");
  }
  const auto height = attrs.get<std::int64_t>("height");
  const auto width = attrs.get<std::int64_t>("width");
  for (const std::int64_t pixels :
       {shape.extent(1), shape.extent(2), height, width}) {
    if (pixels < 1 || pixels > kMostPixels) {
      return bad(
          fmt::format("{} pixels to {} x {}: both sides must have 1 to "
                      "{} each way",
                      pixels, height, width, kMostPixels));
    }
  }
  return TypeList{{inputs[0].dtype, {shape[0], height, width, shape[3]}}};
}

Result<TypeList> infer_resize(std::span<const TensorType> inputs,
                              const Attrs& attrs) {
  return infer("resize", inputs, attrs);
}

// dy of the result, to images of the attributes' height and width.
Result<TypeList> infer_resize_grad(std::span<const TensorType> inputs,
                                   const Attrs& attrs) {
  return infer("resize_grad", inputs, attrs);
}

Cost resize_cost(std::span<const TensorType> inputs,
                 std::span<const TensorType> outputs, const Attrs&) {
  return {10 * double(std::max(inputs[0].shape.elements(),
                               outputs[0].shape.elements())),
          double(inputs[0].bytes()) + double(outputs[0].bytes())};
}

const OpDef& resize_grad_op();

Result<std::vector<ValueId>> resize_gradient(GradientContext& context) {
  Builder& builder = context.builder;
  const graph::Node node = builder.graph().node(context.node);
  const Shape shape = builder.type(node.inputs[0]).shape;
  Attrs attrs = node.attrs;
  attrs.set("height", shape.extent(1));
  attrs.set("width", shape.extent(2));
  return std::vector{builder.emit(
      resize_grad_op(), {context.output_gradients[0]}, std::move(attrs))};
}

const OpDef& resize_op() {
  static const OpDef op = {
      .name = "resize",
      .infer = infer_resize,
      .cost = resize_cost,
      .gradient = resize_gradient,
  };
  return op;
}

const OpDef& resize_grad_op() {
  static const OpDef op = {
      .name = "resize_grad",
      .infer = infer_resize_grad,
      .cost = resize_cost,
  };
  return op;
}

}  // namespace

ValueId resize(Builder& builder, ValueId images, std::int64_t height,
               std::int64_t width, ResizeMethod method) {
  const bool nearest = method == ResizeMethod::nearest;
  return builder.emit(
      resize_op(), {images},
      {{"height", height},
       {"width", width},
       {"method", std::string(nearest ? "nearest" : "bilinear")}});
}

std::span<const OpDef* const> resize_ops() {
  static const std::array ops = {&resize_op(), &resize_grad_op()};
  return ops;
}

}  // namespace plimsoll::ops
