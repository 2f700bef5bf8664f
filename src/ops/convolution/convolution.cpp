#include "ops/convolution/convolution.h"

#include "ops/convolution/conv_shape.h"
#include "ops/convolution/conv_types.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reduction/reduction.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::Builder;
using graph::Cost;
using graph::GradientContext;
using graph::OpDef;
using graph::TensorType;
using graph::ValueId;

template <ConvPass kPass>
Cost cost(std::span<const TensorType> inputs,
          std::span<const TensorType> outputs, const Attrs& attrs) {
  return {conv_shape(kPass, inputs, outputs, attrs).flops(),
          bytes_of(inputs) + bytes_of(outputs)};
}

const OpDef& conv2d_op();
const OpDef& data_grad_op();
const OpDef& weight_grad_op();

// All three are linear in both operands: the gradients of one are the others,
// at the same settings.
ValueId forward(Builder& builder, ValueId x, ValueId w,
                const Conv2dSettings& settings) {
  return builder.emit(conv2d_op(), {x, w}, attrs_of(settings));
}

ValueId to_data(Builder& builder, ValueId dy, ValueId w, Shape input_shape,
                const Conv2dSettings& settings) {
  Attrs attrs = attrs_of(settings);
  attrs.set("input_shape", std::move(input_shape));
  return builder.emit(data_grad_op(), {dy, w}, std::move(attrs));
}

ValueId to_weights(Builder& builder, ValueId dy, ValueId x, Shape kernel_shape,
                   const Conv2dSettings& settings) {
  Attrs attrs = attrs_of(settings);
  attrs.set("kernel_shape", std::move(kernel_shape));
  return builder.emit(weight_grad_op(), {dy, x}, std::move(attrs));
}

Result<std::vector<ValueId>> finished(const Builder& builder,
                                      std::vector<ValueId> gradients) {
  if (!builder.ok()) return builder.status().error();
  return gradients;
}

Result<std::vector<ValueId>> conv2d_gradient(GradientContext& context) {
  Builder& builder = context.builder;
  // A copy: building nodes moves the graph's own.
  const graph::Node node = builder.graph().node(context.node);
  const Conv2dSettings settings = settings_of(node.attrs);
  const ValueId x = node.inputs[0];
  const ValueId w = node.inputs[1];
  ValueId dy = context.output_gradients[0];
  if (node.attrs.get<std::string>("activation") == "relu") {
    dy = relu_grad(builder, dy, node.outputs[0]);
  }
  std::vector<ValueId> gradients = {
      to_data(builder, dy, w, builder.type(x).shape, settings),
      to_weights(builder, dy, x, builder.type(w).shape, settings)};
  if (node.inputs.size() > 2) {
    gradients.push_back(reduce_sum(builder, dy, {0, 1, 2}, false));
  }
  return finished(builder, std::move(gradients));
}

Result<std::vector<ValueId>> data_grad_gradient(GradientContext& context) {
  Builder& builder = context.builder;
  const graph::Node node = builder.graph().node(context.node);
  const Conv2dSettings settings = settings_of(node.attrs);
  const ValueId dy = node.inputs[0];
  const ValueId w = node.inputs[1];
  const ValueId flow = context.output_gradients[0];
  return finished(builder, {forward(builder, flow, w, settings),
                            to_weights(builder, dy, flow, builder.type(w).shape,
                                       settings)});
}

Result<std::vector<ValueId>> weight_grad_gradient(GradientContext& context) {
  Builder& builder = context.builder;
  const graph::Node node = builder.graph().node(context.node);
  const Conv2dSettings settings = settings_of(node.attrs);
  const ValueId dy = node.inputs[0];
  const ValueId x = node.inputs[1];
  const ValueId flow =
      cast(builder, context.output_gradients[0], builder.type(x).dtype);
  return finished(
      builder, {forward(builder, x, flow, settings),
                to_data(builder, dy, flow, builder.type(x).shape, settings)});
}

const OpDef& conv2d_op() {
  static const OpDef op = {
      .name = "conv2d",
      .infer = conv2d_types,
      .cost = cost<ConvPass::forward>,
      .gradient = conv2d_gradient,
  };
  return op;
}

const OpDef& data_grad_op() {
  static const OpDef op = {
      .name = "conv2d_data_grad",
      .infer = conv2d_data_grad_types,
      .cost = cost<ConvPass::data_grad>,
      .gradient = data_grad_gradient,
  };
  return op;
}

const OpDef& weight_grad_op() {
  static const OpDef op = {
      .name = "conv2d_weight_grad",
      .infer = conv2d_weight_grad_types,
      .cost = cost<ConvPass::weight_grad>,
      .gradient = weight_grad_gradient,
  };
  return op;
}

}  // namespace

ValueId conv2d(Builder& builder, ValueId x, ValueId w,
               const Conv2dSettings& settings) {
  return forward(builder, x, w, settings);
}

ValueId conv2d_transpose(Builder& builder, ValueId x, ValueId w,
                         const Conv2dSettings& settings, std::int64_t height,
                         std::int64_t width) {
  if (!builder.ok()) return {};
  const Shape& from = builder.type(x).shape;
  const Shape& kernel = builder.type(w).shape;
  if (from.rank() != 4 || kernel.rank() != 4) {
    return to_data(builder, x, w, Shape(), settings);  // refused by name
  }
  const Dim channels(kernel[3].size * settings.groups);
  return to_data(builder, x, w, {from[0], height, width, channels}, settings);
}

std::span<const OpDef* const> convolution_ops() {
  static const std::array ops = {&conv2d_op(), &data_grad_op(),
                                 &weight_grad_op()};
  return ops;
}

}  // namespace plimsoll::ops
