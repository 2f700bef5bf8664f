// Layers that change an image's border or size.
#include "train/layers/images.h"

#include <fmt/core.h>

#include "ops/movement/window.h"
#include "ops/resize/resize.h"

namespace plimsoll {
namespace train {
namespace {

constexpr LayerKey kZeroPaddingKeys[] = {keys::kPadding};

Names interpolations() {
  static constexpr std::string_view kNames[] = {"nearest", "bilinear"};
  return kNames;
}
constexpr LayerKey kUpSamplingKeys[] = {
    {.key = "size", .field = &Layer::size, .integers = kPixels},
    {.key = "interpolation",
     .field = &Layer::interpolation,
     .names = interpolations,
     .what = "interpolation"},
};

Result<LayerResult> build_zero_padding(LayerContext& context) {
  PLIMSOLL_RETURN_IF_ERROR(check_images(context));
  const Padding& padding = context.layer.padding;
  if (!padding.rule.empty()) {
    return context.wrong(fmt::format(
        "padding: zero_padding2d takes a number, [height, width] or [top, "
        "bottom, left, right], not \"{}\"",
        padding.rule));
  }
  const auto& by = padding.amounts;
  return LayerResult(ops::pad(context.builder, context.x(),
                              {0, by[0], by[2], 0}, {0, by[1], by[3], 0}));
}

Result<LayerResult> build_up_sampling(LayerContext& context) {
  PLIMSOLL_RETURN_IF_ERROR(check_images(context));
  const Layer& layer = context.layer;
  const bool nearest = layer.interpolation == "nearest";
  const std::int64_t height = context.shape().extent(1) * layer.size[0];
  const std::int64_t width = context.shape().extent(2) * layer.size[1];
  return LayerResult(ops::resize(
      context.builder, context.x(), height, width,
      nearest ? ops::ResizeMethod::nearest : ops::ResizeMethod::bilinear));
}

}  // namespace

Status check_images(const LayerContext& context) {
  const Shape& shape = context.shape();
  bool right = shape.rank() == 4;
  for (int axis = 1; right && axis < 4; ++axis) {
    right = kPixels.holds(shape.extent(axis));
  }
  if (right) return {};
  return context.wrong(fmt::format(
      "{} takes images [B, height, width, channels]{}, not {}",
      context.layer.type,
      shape.rank() == 4 ? fmt::format(" of at most {} each", kPixels.most) : "",
      context.builder.type(context.x()).to_string()));
}

const LayerDef kZeroPadding2d = {
    .type = "zero_padding2d",
    .keys = kZeroPaddingKeys,
    .build = build_zero_padding,
    .set_defaults = [](Layer& layer) { layer.padding = 1; }};
const LayerDef kUpSampling2d = {.type = "up_sampling2d",
                                .keys = kUpSamplingKeys,
                                .build = build_up_sampling};

}  // namespace train

Layer ZeroPadding2D(const Padding& padding) {
  Layer layer = train::make_layer("zero_padding2d");
  layer.padding = padding;
  return layer;
}

Layer UpSampling2D(Size2 size, const std::string& interpolation) {
  Layer layer = train::make_layer("up_sampling2d");
  layer.size = size;
  layer.interpolation = interpolation;
  return layer;
}

}  // namespace plimsoll
