#include "ops/convolution/conv_types.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "ops/convolution/conv_shape.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::TensorType;
using graph::TypeList;

// One op's operands, for what its errors say.
struct Call {
  std::string_view op;
  std::span<const TensorType> inputs;
  const Attrs& attrs;

  Error bad(std::string_view why) const {
    return {ErrorCode::bad_input,
            fmt::format("{}({}): {}", op, graph::to_string(inputs), why)};
  }
};

Status check_numbers(const Call& call, const char* name, std::size_t count,
                     std::int64_t least) {
  if (!call.attrs.has(name)) return {};
  const auto values = call.attrs.get<std::vector<std::int64_t>>(name);
  const bool good =
      values.size() == count &&
      std::all_of(values.begin(), values.end(), [&](std::int64_t value) {
        return value >= least && value <= kMostConvNumber;
      });
  if (good) return {};
  return call.bad(fmt::format("`{}` must be {} numbers from {} to {}", name,
                              count, least, kMostConvNumber));
}

Status check_images(const Call& call, const Shape& shape,
                    std::string_view what) {
  if (shape.rank() != 4) {
    return call.bad(fmt::format("{} must be [B, H, W, C]", what));
  }
  for (int axis = 1; axis < 4; ++axis) {
    if (shape[axis].per_batch || shape.extent(axis) < 1 ||
        shape.extent(axis) > kMostConvNumber) {
      return call.bad(fmt::format(
          "{} is {}: its height, width and channels must be 1 to {}", what,
          shape.to_string(), kMostConvNumber));
    }
  }
  return {};
}

Status check_operands(const Call& call, std::size_t least, std::size_t most,
                      std::string_view takes) {
  if (call.inputs.size() < least || call.inputs.size() > most) {
    return call.bad(fmt::format("takes {}", takes));
  }
  const DType dtype = call.inputs[0].dtype;
  for (const TensorType& type : call.inputs) {
    if (!is_floating(dtype) || type.dtype != dtype) {
      return call.bad("operands must share one floating dtype");
    }
  }
  PLIMSOLL_RETURN_IF_ERROR(check_numbers(call, "strides", 2, 1));
  PLIMSOLL_RETURN_IF_ERROR(check_numbers(call, "dilations", 2, 1));
  return check_numbers(call, "padding", 4, 0);
}

// y of images x and kernels w.
Result<Shape> convolved(const Call& call, const Shape& x, const Shape& w) {
  PLIMSOLL_RETURN_IF_ERROR(check_images(call, x, "the image"));
  const auto usable = [](const Dim& dim) {
    return !dim.per_batch && dim.size >= 1 && dim.size <= kMostConvNumber;
  };
  if (w.rank() != 4 || !std::all_of(w.dims().begin(), w.dims().end(), usable)) {
    return call.bad(fmt::format(
        "the kernel is {}: it must be [O, KH, KW, C / groups], each 1 to {}",
        w.to_string(), kMostConvNumber));
  }
  const Conv2dSettings settings = settings_of(call.attrs);
  const std::int64_t groups = settings.groups;
  const std::int64_t channels = x.extent(3);
  if (groups < 1 || channels % groups != 0 || w.extent(0) % groups != 0) {
    return call.bad(
        fmt::format("{} groups must divide the {} channels and the {} filters",
                    groups, channels, w.extent(0)));
  }
  if (w.extent(3) != channels / groups) {
    return call.bad(
        fmt::format("the kernel has {} channels a group where the image has {}",
                    w.extent(3), channels / groups));
  }
  std::vector<Dim> dims = {x[0]};
  for (const int axis : {0, 1}) {
    const std::int64_t extent =
        conv_extent(settings, axis, x.extent(1 + axis), w.extent(1 + axis));
    if (extent < 1) {
      return call.bad(fmt::format(
          "the kernel reaches over {} {} where the padded image has {}",
          settings.dilations[static_cast<std::size_t>(axis)] *
                  (w.extent(1 + axis) - 1) +
              1,
          axis == 0 ? "rows" : "columns",
          x.extent(1 + axis) +
              settings.padding[2 * static_cast<std::size_t>(axis)] +
              settings.padding[2 * static_cast<std::size_t>(axis) + 1]));
    }
    dims.emplace_back(extent);
  }
  dims.push_back(w[0]);
  return Shape(std::move(dims));
}

// dy must be what such a convolution gives.
Status check_gradient(const Call& call, const Shape& x, const Shape& w) {
  PLIMSOLL_ASSIGN(const Shape y, convolved(call, x, w));
  if (y == call.inputs[0].shape) return {};
  return call.bad(fmt::format("the gradient must be {}: {} through {} is that",
                              y.to_string(), x.to_string(), w.to_string()));
}

}  // namespace

Result<TypeList> conv2d_types(std::span<const TensorType> inputs,
                              const Attrs& attrs) {
  const Call call{"conv2d", inputs, attrs};
  PLIMSOLL_RETURN_IF_ERROR(
      check_operands(call, 2, 3, "an image, a kernel and at most a bias"));
  PLIMSOLL_ASSIGN(Shape y, convolved(call, inputs[0].shape, inputs[1].shape));
  if (inputs.size() > 2 && !(inputs[2].shape == Shape{y[3]})) {
    return call.bad(fmt::format("the bias must be [{}]", y.extent(3)));
  }
  const auto activation = attrs.get<std::string>("activation");
  if (!activation.empty() && activation != "relu") {
    return call.bad(fmt::format("unknown activation `{}`", activation));
  }
  return TypeList{{inputs[0].dtype, std::move(y)}};
}

Result<TypeList> conv2d_data_grad_types(std::span<const TensorType> inputs,
                                        const Attrs& attrs) {
  const Call call{"conv2d_data_grad", inputs, attrs};
  PLIMSOLL_RETURN_IF_ERROR(
      check_operands(call, 2, 2, "a gradient and a kernel"));
  const auto x = attrs.get<Shape>("input_shape");
  PLIMSOLL_RETURN_IF_ERROR(check_gradient(call, x, inputs[1].shape));
  return TypeList{{inputs[0].dtype, x}};
}

Result<TypeList> conv2d_weight_grad_types(std::span<const TensorType> inputs,
                                          const Attrs& attrs) {
  const Call call{"conv2d_weight_grad", inputs, attrs};
  PLIMSOLL_RETURN_IF_ERROR(
      check_operands(call, 2, 2, "a gradient and an image"));
  const auto w = attrs.get<Shape>("kernel_shape");
  PLIMSOLL_RETURN_IF_ERROR(check_gradient(call, inputs[1].shape, w));
  DType out = inputs[0].dtype;
  if (attrs.has("out")) {
    if (attrs.get<std::string>("out") != "f32" || out == DType::f64) {
      return call.bad(
          fmt::format("\"out\" must be f32 beside f32, bf16 or f16, not {}",
                      attrs.get<std::string>("out")));
    }
    out = DType::f32;
  }
  return TypeList{{out, w}};
}

}  // namespace plimsoll::ops
