#include "ops/normalization/normalization.h"

#include "train/layers/layer_def.h"
#include "train/precision.h"

namespace plimsoll {
namespace train {
namespace {

using graph::ValueId;

constexpr LayerKey kEpsilon = {
    .key = "epsilon", .field = &Layer::epsilon, .reals = kAboveZero};
constexpr LayerKey kScale = {.key = "scale", .field = &Layer::scale};
constexpr LayerKey kCenter = {.key = "center", .field = &Layer::center};
constexpr LayerKey kGroups = {.key = "groups", .field = &Layer::groups};
constexpr LayerKey kMomentum = {
    .key = "momentum", .field = &Layer::momentum, .reals = kFraction};

constexpr LayerKey kLayerKeys[] = {kEpsilon, kScale, kCenter};
constexpr LayerKey kRmsKeys[] = {kEpsilon};
constexpr LayerKey kGroupKeys[] = {kGroups, kEpsilon, kScale, kCenter};
constexpr LayerKey kUnbiased = {.key = "unbiased", .field = &Layer::unbiased};
constexpr LayerKey kBatchKeys[] = {kMomentum, kEpsilon, kScale, kCenter,
                                   kUnbiased};

ValueId one_a_channel(LayerContext& context, bool wanted, const char* suffix,
                      const char* initializer) {
  if (!wanted) return {};
  const std::int64_t channels = context.channels();
  return in_dtype(
      context.builder,
      context.master(suffix, {channels}, initializer, channels, channels),
      context.statistics_dtype());
}

struct Affine {
  ValueId gamma;
  ValueId beta;
};

Affine affine(LayerContext& context) {
  Affine made;
  made.gamma = one_a_channel(context, context.layer.scale, "gamma", "ones");
  made.beta = one_a_channel(context, context.layer.center, "beta", "zeros");
  return made;
}

Result<LayerResult> build_layer(LayerContext& context) {
  const Affine by = affine(context);
  return LayerResult(ops::layer_norm(context.builder, context.x(), by.gamma,
                                     by.beta, context.layer.epsilon));
}

Result<LayerResult> build_rms(LayerContext& context) {
  const ValueId scale = one_a_channel(context, true, "scale", "ones");
  return LayerResult(ops::rms_norm(context.builder, context.x(), scale,
                                   context.layer.epsilon));
}

Result<LayerResult> build_group(LayerContext& context) {
  const Affine by = affine(context);
  return LayerResult(ops::group_norm(context.builder, context.x(), by.gamma,
                                     by.beta, context.layer.groups,
                                     context.layer.epsilon));
}

Result<LayerResult> build_batch(LayerContext& context) {
  graph::Builder& builder = context.builder;
  const Layer& layer = context.layer;
  const std::int64_t channels = context.channels();
  const Affine by = affine(context);
  const ValueId mean = context.statistic("moving_mean", channels, "zeros");
  const ValueId variance =
      context.statistic("moving_variance", channels, "ones");
  if (!context.options.training) {
    return LayerResult(ops::batch_norm_inference(builder, context.x(), by.gamma,
                                                 by.beta, mean, variance,
                                                 layer.epsilon));
  }
  const ops::BatchNorm made = ops::batch_norm(
      builder, context.x(), by.gamma, by.beta, layer.epsilon, layer.unbiased);
  builder.assign(mean,
                 ops::moving_average(builder, mean, made.mean, layer.momentum));
  builder.assign(variance, ops::moving_average(builder, variance, made.variance,
                                               layer.momentum));
  return LayerResult(made.y);
}

}  // namespace

const LayerDef kLayerNormalization = {
    .type = "layer_normalization", .keys = kLayerKeys, .build = build_layer};
const LayerDef kRmsNormalization = {
    .type = "rms_normalization",
    .keys = kRmsKeys,
    .build = build_rms,
    .set_defaults = [](Layer& layer) { layer.epsilon = 1e-6; }};
const LayerDef kGroupNormalization = {
    .type = "group_normalization", .keys = kGroupKeys, .build = build_group};
const LayerDef kBatchNormalization = {
    .type = "batch_normalization", .keys = kBatchKeys, .build = build_batch};

}  // namespace train

Layer LayerNormalization(double epsilon) {
  Layer layer = train::make_layer("layer_normalization");
  layer.epsilon = epsilon;
  return layer;
}

Layer RMSNormalization(double epsilon) {
  Layer layer = train::make_layer("rms_normalization");
  layer.epsilon = epsilon;
  return layer;
}

Layer GroupNormalization(std::int64_t groups, double epsilon) {
  Layer layer = train::make_layer("group_normalization");
  layer.groups = groups;
  layer.epsilon = epsilon;
  return layer;
}

Layer BatchNormalization(double momentum, double epsilon) {
  Layer layer = train::make_layer("batch_normalization");
  layer.momentum = momentum;
  layer.epsilon = epsilon;
  return layer;
}

}  // namespace plimsoll
