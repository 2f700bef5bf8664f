#include "ops/convolution/conv_shape.h"

#include <algorithm>
#include <string>

namespace plimsoll::ops {
namespace {

using Numbers = std::vector<std::int64_t>;

template <std::size_t N>
std::array<std::int64_t, N> array_of(const graph::Attrs& attrs,
                                     const char* name,
                                     std::array<std::int64_t, N> values) {
  const auto given = attrs.get<Numbers>(name);
  if (given.size() == N) std::copy_n(given.begin(), N, values.begin());
  return values;
}

template <std::size_t N>
Numbers numbers(const std::array<std::int64_t, N>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

double ConvShape::flops() const {
  return 2.0 * static_cast<double>(batch) *
         static_cast<double>(out[0] * out[1]) *
         static_cast<double>(kernel[0] * kernel[1]) *
         static_cast<double>(filters) *
         static_cast<double>(channels_per_group());
}

double ConvShape::pixels() const {
  return static_cast<double>(batch) *
         (static_cast<double>(in[0] * in[1]) * static_cast<double>(channels) +
          static_cast<double>(out[0] * out[1]) * static_cast<double>(filters));
}

Conv2dSettings settings_of(const graph::Attrs& attrs) {
  Conv2dSettings settings;
  settings.strides = array_of(attrs, "strides", settings.strides);
  settings.dilations = array_of(attrs, "dilations", settings.dilations);
  settings.padding = array_of(attrs, "padding", settings.padding);
  settings.groups = attrs.get<std::int64_t>("groups", 1);
  return settings;
}

graph::Attrs attrs_of(const Conv2dSettings& settings) {
  return {{"strides", numbers(settings.strides)},
          {"dilations", numbers(settings.dilations)},
          {"padding", numbers(settings.padding)},
          {"groups", settings.groups}};
}

std::int64_t conv_extent(const Conv2dSettings& settings, int axis,
                         std::int64_t size, std::int64_t kernel) {
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t padded =
      size + settings.padding[2 * at] + settings.padding[2 * at + 1];
  const std::int64_t reach = settings.dilations[at] * (kernel - 1) + 1;
  return padded < reach ? 0 : (padded - reach) / settings.strides[at] + 1;
}

Conv2dSettings same_padding(Conv2dSettings settings, std::int64_t height,
                            std::int64_t width, std::int64_t kernel_height,
                            std::int64_t kernel_width) {
  const auto pad = [&](std::size_t at, std::int64_t size, std::int64_t kernel) {
    const std::int64_t stride = settings.strides[at];
    for (const std::int64_t number :
         {stride, settings.dilations[at], size, kernel}) {
      if (number < 1 || number > kMostConvNumber) return;
    }
    const std::int64_t out = (size + stride - 1) / stride;
    const std::int64_t reach = settings.dilations[at] * (kernel - 1) + 1;
    const std::int64_t all =
        std::max<std::int64_t>(0, (out - 1) * stride + reach - size);
    settings.padding[2 * at] = all / 2;
    settings.padding[2 * at + 1] = all - all / 2;
  };
  pad(0, height, kernel_height);
  pad(1, width, kernel_width);
  return settings;
}

ConvShape conv_shape(ConvPass pass, std::span<const graph::TensorType> inputs,
                     std::span<const graph::TensorType> outputs,
                     const graph::Attrs& attrs) {
  const bool forward = pass == ConvPass::forward;
  const bool to_weights = pass == ConvPass::weight_grad;
  const Shape& x = pass == ConvPass::data_grad ? outputs[0].shape
                                               : inputs[forward ? 0 : 1].shape;
  const Shape& w = to_weights ? outputs[0].shape : inputs[1].shape;
  const Shape& y = forward ? outputs[0].shape : inputs[0].shape;
  ConvShape shape;
  shape.batch = x.extent(0);
  shape.in = {x.extent(1), x.extent(2)};
  shape.channels = x.extent(3);
  shape.kernel = {w.extent(1), w.extent(2)};
  shape.out = {y.extent(1), y.extent(2)};
  shape.filters = y.extent(3);
  shape.settings = settings_of(attrs);
  shape.bias = forward && inputs.size() > 2;
  shape.relu = forward && attrs.get<std::string>("activation") == "relu";
  shape.wide = to_weights && outputs[0].dtype != inputs[0].dtype;
  return shape;
}

}  // namespace plimsoll::ops
