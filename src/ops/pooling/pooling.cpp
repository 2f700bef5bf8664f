#include "ops/pooling/pooling.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "ops/movement/movement.h"
#include "ops/pooling/pool_shape.h"
#include "ops/reduction/reduction.h"

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

using Types = std::span<const TensorType>;
using Numbers = std::vector<std::int64_t>;

// Kernels work places out in 32 bits.
constexpr std::int64_t kMostPixels = std::int64_t{1} << 24;

Error mistake(std::string_view op, Types inputs, const Attrs& attrs,
              std::string_view why) {
  return {ErrorCode::bad_input,
          fmt::format("{}({}) window {}, strides {}, padding {}: {}", op,
                      graph::to_string(inputs), attrs.get<Numbers>("window"),
                      attrs.get<Numbers>("strides"),
                      attrs.get<Numbers>("padding"), why)};
}

bool are_images(const TensorType& type) {
  const Shape& shape = type.shape;
  if (!is_floating(type.dtype) || shape.rank() != 4) return false;
  return std::none_of(shape.dims().begin() + 1, shape.dims().end(),
                      [](const Dim& dim) { return dim.per_batch; });
}

// Of an image, a window or a stride, each way.
bool is_usable(std::int64_t pixels) {
  return pixels >= 1 && pixels <= kMostPixels;
}

// Pixels of the result for images of `height` and `width`.
Result<std::array<std::int64_t, 2>> windows_of(std::string_view op,
                                               Types inputs, const Attrs& attrs,
                                               std::int64_t height,
                                               std::int64_t width) {
  const auto window = attrs.get<Numbers>("window");
  const auto strides = attrs.get<Numbers>("strides");
  const auto padding = attrs.get<Numbers>("padding");
  const auto bad = [&](std::string_view why) {
    return mistake(op, inputs, attrs, why);
  };
  if (window.size() != 2 || strides.size() != 2 || padding.size() != 4) {
    return bad("takes two extents, two strides and four paddings");
  }
  const std::array extents = {height, width};
  std::array<std::int64_t, 2> made{};
  for (std::size_t i = 0; i < 2; ++i) {
    if (!is_usable(window[i]) || !is_usable(strides[i]) ||
        !is_usable(extents[i])) {
      return bad(
          fmt::format("images, windows and strides must have 1 to {} "
                      "pixels each way",
                      kMostPixels));
    }
    const std::int64_t before = padding[2 * i];
    const std::int64_t after = padding[2 * i + 1];
    if (before < 0 || after < 0 || before >= window[i] || after >= window[i]) {
      return bad(
          "padding must be 0 or more and less than the window, so that "
          "no window is padding alone");
    }
    const std::int64_t room = extents[i] + before + after - window[i];
    if (room < 0) {
      return bad(fmt::format("the window does not fit into {} x {} pixels",
                             height, width));
    }
    made[i] = room / strides[i] + 1;
  }
  if (window[0] * window[1] > kMostPixels) {
    return bad(fmt::format("a window has {} pixels at most", kMostPixels));
  }
  return made;
}

Result<TensorType> pooled(std::string_view op, Types inputs,
                          const Attrs& attrs) {
  if (inputs.size() != 1 || !are_images(inputs[0])) {
    return mistake(op, inputs, attrs,
                   "takes images [B, H, W, C] of a floating type");
  }
  const Shape& shape = inputs[0].shape;
  PLIMSOLL_ASSIGN(
      const auto made,
      windows_of(op, inputs, attrs, shape.extent(1), shape.extent(2)));
  return TensorType{inputs[0].dtype, {shape[0], made[0], made[1], shape[3]}};
}

Result<TypeList> infer_max(Types inputs, const Attrs& attrs) {
  PLIMSOLL_ASSIGN(const TensorType y, pooled("max_pool2d", inputs, attrs));
  return TypeList{y, {place_dtype(attrs), y.shape}};
}

Result<TypeList> infer_average(Types inputs, const Attrs& attrs) {
  PLIMSOLL_ASSIGN(const TensorType y, pooled("avg_pool2d", inputs, attrs));
  return TypeList{y};
}

// dy of a result, to images of the attributes' height and width.
Result<TypeList> to_images(std::string_view op, Types inputs,
                           const Attrs& attrs) {
  const auto height = attrs.get<std::int64_t>("height");
  const auto width = attrs.get<std::int64_t>("width");
  PLIMSOLL_ASSIGN(const auto made,
                  windows_of(op, inputs, attrs, height, width));
  const Shape& shape = inputs[0].shape;
  if (shape.extent(1) != made[0] || shape.extent(2) != made[1]) {
    return mistake(op, inputs, attrs,
                   fmt::format("images of {} x {} have {} x {} windows", height,
                               width, made[0], made[1]));
  }
  return TypeList{{inputs[0].dtype, {shape[0], height, width, shape[3]}}};
}

Result<TypeList> infer_max_grad(Types inputs, const Attrs& attrs) {
  constexpr std::string_view kName = "max_pool2d_grad";
  if (inputs.size() != 2 || !are_images(inputs[0]) ||
      inputs[1].shape != inputs[0].shape) {
    return mistake(kName, inputs, attrs,
                   "takes dy [B, H, W, C] and the places of the largest, of "
                   "the same shape");
  }
  PLIMSOLL_ASSIGN(auto made, to_images(kName, inputs, attrs));
  if (inputs[1].dtype != place_dtype(attrs)) {
    return mistake(kName, inputs, attrs,
                   fmt::format("places in such a window are {}",
                               name_of(place_dtype(attrs))));
  }
  return made;
}

Result<TypeList> infer_average_grad(Types inputs, const Attrs& attrs) {
  constexpr std::string_view kName = "avg_pool2d_grad";
  if (inputs.size() != 1 || !are_images(inputs[0])) {
    return mistake(kName, inputs, attrs, "takes dy [B, H, W, C]");
  }
  return to_images(kName, inputs, attrs);
}

Cost pool_cost(Types inputs, Types outputs, const Attrs& attrs) {
  const auto window = attrs.get<Numbers>("window");
  double bytes = 0;
  for (const Types side : {inputs, outputs}) {
    for (const TensorType& type : side) bytes += double(type.bytes());
  }
  // The result's pixels, whichever side they are on.
  const double pixels =
      double(std::min(inputs[0].shape.elements(), outputs[0].shape.elements()));
  return {pixels * double(window[0] * window[1]), bytes};
}

const OpDef& max_grad_op();
const OpDef& average_grad_op();

Attrs grad_attrs(const Builder& builder, const graph::Node& node) {
  const Shape& shape = builder.type(node.inputs[0]).shape;
  Attrs attrs = node.attrs;
  attrs.set("height", shape.extent(1));
  attrs.set("width", shape.extent(2));
  return attrs;
}

Result<std::vector<ValueId>> max_gradient(GradientContext& context) {
  Builder& builder = context.builder;
  const graph::Node node = builder.graph().node(context.node);
  const ValueId dy = context.output_gradients[0];
  if (!dy.valid()) return std::vector<ValueId>(1);
  return std::vector{builder.emit(max_grad_op(), {dy, node.outputs[1]},
                                  grad_attrs(builder, node))};
}

Result<std::vector<ValueId>> average_gradient(GradientContext& context) {
  Builder& builder = context.builder;
  const graph::Node node = builder.graph().node(context.node);
  return std::vector{builder.emit(average_grad_op(),
                                  {context.output_gradients[0]},
                                  grad_attrs(builder, node))};
}

const OpDef& max_op() {
  static const OpDef op = {
      .name = "max_pool2d",
      .infer = infer_max,
      .cost = pool_cost,
      .gradient = max_gradient,
  };
  return op;
}

const OpDef& max_grad_op() {
  static const OpDef op = {
      .name = "max_pool2d_grad",
      .infer = infer_max_grad,
      .cost = pool_cost,
  };
  return op;
}

const OpDef& average_op() {
  static const OpDef op = {
      .name = "avg_pool2d",
      .infer = infer_average,
      .cost = pool_cost,
      .gradient = average_gradient,
  };
  return op;
}

const OpDef& average_grad_op() {
  static const OpDef op = {
      .name = "avg_pool2d_grad",
      .infer = infer_average_grad,
      .cost = pool_cost,
  };
  return op;
}

Attrs attrs_of(const Pool2dSettings& settings) {
  const auto numbers = [](const auto& array) {
    return Numbers(array.begin(), array.end());
  };
  return {{"window", numbers(settings.window)},
          {"strides", numbers(settings.strides)},
          {"padding", numbers(settings.padding)}};
}

}  // namespace

Pool2dSettings same_pool_padding(Pool2dSettings settings, std::int64_t height,
                                 std::int64_t width) {
  const std::array extents = {height, width};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t stride = settings.strides[i];
    if (!is_usable(settings.window[i]) || !is_usable(stride) ||
        !is_usable(extents[i])) {
      continue;
    }
    const std::int64_t windows = (extents[i] + stride - 1) / stride;
    const std::int64_t missing = std::max<std::int64_t>(
        0, (windows - 1) * stride + settings.window[i] - extents[i]);
    settings.padding[2 * i] = missing / 2;
    settings.padding[2 * i + 1] = missing - missing / 2;
  }
  return settings;
}

ValueId max_pool2d(Builder& builder, ValueId x,
                   const Pool2dSettings& settings) {
  const auto made = builder.emit_all(max_op(), {x}, attrs_of(settings));
  return made.empty() ? ValueId() : made[0];
}

ValueId avg_pool2d(Builder& builder, ValueId x,
                   const Pool2dSettings& settings) {
  return builder.emit(average_op(), {x}, attrs_of(settings));
}

// One window: unlike reduce_max, it keeps places instead of the images.
ValueId global_max_pool2d(Builder& builder, ValueId x) {
  if (!builder.ok()) return {};
  const Shape shape = builder.type(x).shape;
  Pool2dSettings whole;
  if (shape.rank() == 4) {
    whole.window = whole.strides = {shape.extent(1), shape.extent(2)};
  }
  const ValueId y = max_pool2d(builder, x, whole);
  if (!builder.ok()) return {};
  return reshape(builder, y, {shape[0], shape[3]});
}

ValueId global_avg_pool2d(Builder& builder, ValueId x) {
  if (!builder.ok()) return {};
  const TensorType type = builder.type(x);
  if (!are_images(type)) {
    builder.fail(
        {ErrorCode::bad_input,
         fmt::format("global_avg_pool2d({}): takes images [B, H, W, C] "
                     "of a floating type",
                     type.to_string())});
    return {};
  }
  return reduce_mean(builder, x, {1, 2});
}

std::span<const OpDef* const> pooling_ops() {
  static const std::array ops = {&max_op(), &max_grad_op(), &average_op(),
                                 &average_grad_op()};
  return ops;
}

}  // namespace plimsoll::ops
