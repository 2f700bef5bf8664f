#include "ops/random/random.h"
#include "train/layers/layer_def.h"

namespace plimsoll {
namespace train {
namespace {

constexpr LayerKey kKeys[] = {
    {.key = "rate",
     .field = &Layer::rate,
     .needed = "`rate`, the share of values set to zero",
     .reals = kFraction},
};

Result<LayerResult> build_dropout(LayerContext& context) {
  const double rate = context.layer.rate;
  if (!context.options.training || rate <= 0) return LayerResult(context.x());
  return LayerResult(ops::dropout(context.builder, context.x(),
                                  context.options.random_step, rate,
                                  context.options.seed, context.position));
}

}  // namespace

const LayerDef kDropout = {
    .type = "dropout", .keys = kKeys, .build = build_dropout};

}  // namespace train

Layer Dropout(double rate) {
  Layer layer = train::make_layer("dropout");
  layer.rate = rate;
  return layer;
}

}  // namespace plimsoll
