#include "ops/pooling/pooling.h"

#include <fmt/core.h>

#include "train/layers/images.h"

namespace plimsoll {
namespace train {
namespace {

using graph::ValueId;

constexpr LayerKey kKeys[] = {
    {.key = "pool_size", .field = &Layer::pool_size, .integers = kPixels},
    keys::kStrides,
    keys::kPadding,
};

using Pool = ValueId (*)(graph::Builder&, ValueId, const ops::Pool2dSettings&);

template <Pool pool>
Result<LayerResult> build_pool(LayerContext& context) {
  PLIMSOLL_RETURN_IF_ERROR(check_images(context));
  const Layer& layer = context.layer;
  ops::Pool2dSettings settings;
  settings.window = layer.pool_size;
  settings.strides =
      layer.strides == Size2{0, 0} ? layer.pool_size : layer.strides;
  settings.padding = layer.padding.amounts;
  if (layer.padding.rule == "same") {
    settings = ops::same_pool_padding(settings, context.shape().extent(1),
                                      context.shape().extent(2));
  }
  return LayerResult(pool(context.builder, context.x(), settings));
}

template <ValueId (*pool)(graph::Builder&, ValueId)>
Result<LayerResult> build_global(LayerContext& context) {
  PLIMSOLL_RETURN_IF_ERROR(check_images(context));
  return LayerResult(pool(context.builder, context.x()));
}

void no_strides(Layer& layer) { layer.strides = {0, 0}; }

Layer with(const char* type, const PoolOptions& options) {
  Layer layer = make_layer(type);
  layer.pool_size = options.pool_size;
  layer.strides = options.strides;
  layer.padding = options.padding;
  return layer;
}

}  // namespace

const LayerDef kMaxPooling2d = {.type = "max_pooling2d",
                                .keys = kKeys,
                                .build = build_pool<ops::max_pool2d>,
                                .set_defaults = no_strides};
const LayerDef kAveragePooling2d = {.type = "average_pooling2d",
                                    .keys = kKeys,
                                    .build = build_pool<ops::avg_pool2d>,
                                    .set_defaults = no_strides};
const LayerDef kGlobalMaxPooling2d = {
    .type = "global_max_pooling2d",
    .build = build_global<ops::global_max_pool2d>};
const LayerDef kGlobalAveragePooling2d = {
    .type = "global_average_pooling2d",
    .build = build_global<ops::global_avg_pool2d>};

}  // namespace train

Layer MaxPooling2D(const PoolOptions& options) {
  return train::with("max_pooling2d", options);
}
Layer AveragePooling2D(const PoolOptions& options) {
  return train::with("average_pooling2d", options);
}
Layer GlobalMaxPooling2D() { return train::make_layer("global_max_pooling2d"); }
Layer GlobalAveragePooling2D() {
  return train::make_layer("global_average_pooling2d");
}

}  // namespace plimsoll
