#include "ops/convolution/convolution.h"

#include <fmt/core.h>

#include "train/layers/images.h"

namespace plimsoll {
namespace train {
namespace {

using graph::ValueId;

constexpr LayerKey kFilters = {
    .key = "filters",
    .field = &Layer::filters,
    .needed = "`filters`, the number of channels it gives"};
constexpr LayerKey kKernelSize = {.key = "kernel_size",
                                  .field = &Layer::kernel_size,
                                  .needed = "`kernel_size`, as in 3 or [3, 5]",
                                  .integers = kPixels};
constexpr LayerKey kDilation = {.key = "dilation_rate",
                                .field = &Layer::dilation_rate,
                                .integers = kPixels};
constexpr LayerKey kConvKeys[] = {
    kFilters,
    kKernelSize,
    keys::kStrides,
    keys::kPadding,
    kDilation,
    {.key = "groups", .field = &Layer::groups},
    keys::kActivation,
    keys::kUseBias,
    keys::kKernelInitializer,
    keys::kBiasInitializer,
    keys::kNegativeSlope,
};
constexpr LayerKey kDepthwiseKeys[] = {
    kKernelSize,
    keys::kStrides,
    keys::kPadding,
    kDilation,
    {.key = "depth_multiplier", .field = &Layer::depth_multiplier},
    keys::kActivation,
    keys::kUseBias,
    {.key = "depthwise_initializer",
     .field = &Layer::kernel_initializer,
     .names = initializers,
     .what = "initializer"},
    keys::kBiasInitializer,
    keys::kNegativeSlope,
};
constexpr LayerKey kTransposeKeys[] = {
    kFilters,
    kKernelSize,
    keys::kStrides,
    keys::kPadding,
    kDilation,
    keys::kActivation,
    keys::kUseBias,
    keys::kKernelInitializer,
    keys::kBiasInitializer,
    keys::kNegativeSlope,
};

void one_group(Layer& layer) { layer.groups = 1; }

// Without padding, which depends on the image.
Result<ops::Conv2dSettings> settings_of(const LayerContext& context) {
  PLIMSOLL_RETURN_IF_ERROR(check_images(context));
  const Layer& layer = context.layer;
  ops::Conv2dSettings settings;
  settings.strides = layer.strides;
  settings.dilations = layer.dilation_rate;
  settings.padding = layer.padding.amounts;
  return settings;
}

ops::Conv2dSettings padded(const Layer& layer, ops::Conv2dSettings settings,
                           std::int64_t height, std::int64_t width) {
  if (layer.padding.rule != "same") return settings;
  return ops::same_padding(settings, height, width, layer.kernel_size[0],
                           layer.kernel_size[1]);
}

// In doubles, before anything is multiplied out.
Status check_kernel(const LayerContext& context, std::int64_t filters,
                    std::int64_t depth) {
  const auto [height, width] = context.layer.kernel_size;
  const double elements =
      static_cast<double>(filters) * static_cast<double>(height) *
      static_cast<double>(width) * static_cast<double>(depth);
  if (elements < 0x1p44) return {};
  return context.wrong(
      fmt::format("its kernel {} has more than 2^44 elements",
                  Shape{filters, height, width, depth}.to_string()));
}

// Fans are Keras's: places times channels in and out of its own layout.
struct Kernel {
  std::int64_t filters = 0;
  std::int64_t depth = 0;
  std::int64_t fan_in = 0;
  std::int64_t fan_out = 0;
};

Result<LayerResult> convolve(LayerContext& context,
                             ops::Conv2dSettings settings,
                             const Kernel& kernel) {
  PLIMSOLL_RETURN_IF_ERROR(check_kernel(context, kernel.filters, kernel.depth));
  const Layer& layer = context.layer;
  const auto [height, width] = layer.kernel_size;
  const std::int64_t places = height * width;
  const std::int64_t image_height = context.shape().extent(1);
  const std::int64_t image_width = context.shape().extent(2);
  const ValueId weights =
      context.parameter("kernel", {kernel.filters, height, width, kernel.depth},
                        layer.kernel_initializer, places * kernel.fan_in,
                        places * kernel.fan_out);
  const ValueId made =
      ops::conv2d(context.builder, context.x(), weights,
                  padded(layer, settings, image_height, image_width));
  if (!context.builder.ok()) return LayerResult(made);
  return context.activate(context.add_bias(made, kernel.filters));
}

Result<LayerResult> build_conv(LayerContext& context) {
  PLIMSOLL_ASSIGN(ops::Conv2dSettings settings, settings_of(context));
  const Layer& layer = context.layer;
  const std::int64_t channels = context.channels();
  const std::int64_t groups = layer.groups;
  if (channels % groups != 0 || layer.filters % groups != 0) {
    return context.wrong(fmt::format(
        "conv2d needs groups that divide both the filters and the input's "
        "channels, not {} filters in {} groups over {}",
        layer.filters, groups, context.shape().to_string()));
  }
  settings.groups = groups;
  const std::int64_t depth = channels / groups;
  return convolve(context, settings,
                  {layer.filters, depth, depth, layer.filters});
}

Result<LayerResult> build_depthwise(LayerContext& context) {
  PLIMSOLL_ASSIGN(ops::Conv2dSettings settings, settings_of(context));
  const Layer& layer = context.layer;
  const std::int64_t channels = context.channels();
  settings.groups = channels;
  return convolve(
      context, settings,
      {channels * layer.depth_multiplier, 1, channels, layer.depth_multiplier});
}

// What Keras gives; with amounts, what PyTorch does.
std::int64_t extent_of(const LayerContext& context, int axis) {
  const Layer& layer = context.layer;
  const auto i = static_cast<std::size_t>(axis - 1);
  const std::int64_t extent = context.shape().extent(axis);
  const std::int64_t stride = layer.strides[i];
  const std::int64_t reach =
      (layer.kernel_size[i] - 1) * layer.dilation_rate[i] + 1;
  if (layer.padding.rule == "same") return extent * stride;
  const auto& by = layer.padding.amounts;
  const std::int64_t cut = by[2 * i] + by[2 * i + 1];
  if (layer.padding.rule.empty()) return (extent - 1) * stride + reach - cut;
  return extent * stride + std::max<std::int64_t>(reach - stride, 0);
}

Result<LayerResult> build_transpose(LayerContext& context) {
  PLIMSOLL_ASSIGN(ops::Conv2dSettings settings, settings_of(context));
  const Layer& layer = context.layer;
  const std::int64_t channels = context.channels();
  PLIMSOLL_RETURN_IF_ERROR(check_kernel(context, channels, layer.filters));
  const std::int64_t image_height = extent_of(context, 1);
  const std::int64_t image_width = extent_of(context, 2);
  if (image_height < 1 || image_width < 1) {
    return context.wrong(fmt::format("padding: leaves nothing of an input {}",
                                     context.shape().to_string()));
  }
  const auto [height, width] = layer.kernel_size;
  const ValueId weights = context.parameter(
      "kernel", {channels, height, width, layer.filters},
      layer.kernel_initializer, height * width * layer.filters,
      height * width * channels);
  const ValueId made =
      ops::conv2d_transpose(context.builder, context.x(), weights,
                            padded(layer, settings, image_height, image_width),
                            image_height, image_width);
  if (!context.builder.ok()) return LayerResult(made);
  return context.activate(context.add_bias(made, layer.filters));
}

Layer with(const char* type, Size2 kernel_size, const ConvOptions& options) {
  Layer layer = make_layer(type);
  layer.kernel_size = kernel_size;
  layer.strides = options.strides;
  layer.padding = options.padding;
  layer.dilation_rate = options.dilation_rate;
  layer.use_bias = options.use_bias;
  layer.activation = options.activation.name;
  return layer;
}

}  // namespace

const LayerDef kConv2d = {.type = "conv2d",
                          .keys = kConvKeys,
                          .build = build_conv,
                          .set_defaults = one_group};
const LayerDef kDepthwiseConv2d = {.type = "depthwise_conv2d",
                                   .keys = kDepthwiseKeys,
                                   .build = build_depthwise,
                                   .set_defaults = one_group};
const LayerDef kConv2dTranspose = {.type = "conv2d_transpose",
                                   .keys = kTransposeKeys,
                                   .build = build_transpose,
                                   .set_defaults = one_group};

}  // namespace train

Layer Conv2D(std::int64_t filters, Size2 kernel_size,
             const ConvOptions& options) {
  Layer layer = train::with("conv2d", kernel_size, options);
  layer.filters = filters;
  layer.groups = options.groups;
  return layer;
}

Layer DepthwiseConv2D(Size2 kernel_size, const ConvOptions& options,
                      std::int64_t depth_multiplier) {
  Layer layer = train::with("depthwise_conv2d", kernel_size, options);
  layer.depth_multiplier = depth_multiplier;
  return layer;
}

Layer Conv2DTranspose(std::int64_t filters, Size2 kernel_size,
                      const ConvOptions& options) {
  Layer layer = train::with("conv2d_transpose", kernel_size, options);
  layer.filters = filters;
  return layer;
}

}  // namespace plimsoll
