#include <algorithm>

#include "train/layers/layer_def.h"

namespace plimsoll::train {
namespace {

constexpr const LayerDef* kLayers[] = {
    &kDense,
    &kActivationLayer,
    &kDropout,
    &kFlatten,
    &kEmbedding,
    &kLayerNormalization,
    &kRmsNormalization,
    &kGroupNormalization,
    &kBatchNormalization,
    &kConv2d,
    &kDepthwiseConv2d,
    &kConv2dTranspose,
    &kMaxPooling2d,
    &kAveragePooling2d,
    &kGlobalMaxPooling2d,
    &kGlobalAveragePooling2d,
    &kZeroPadding2d,
    &kUpSampling2d,
    &kReshape,
    &kPermute,
    &kSlice,
    &kAdd,
    &kSubtract,
    &kMultiply,
    &kAverage,
    &kMaximum,
    &kMinimum,
    &kConcatenate,
    &kDot,
    &kPositionEmbedding,
    &kMultiHeadAttention,
    &kLstm,
    &kGru,
};

thread_local std::string current_scope;

}  // namespace

std::span<const LayerDef* const> layer_defs() { return kLayers; }

const LayerDef* find_layer(std::string_view type) {
  const auto* found =
      std::find_if(std::begin(kLayers), std::end(kLayers),
                   [&](const LayerDef* def) { return def->type == type; });
  return found == std::end(kLayers) ? nullptr : *found;
}

Names layer_types() {
  static const auto names = [] {
    std::vector<std::string_view> all;
    for (const LayerDef* def : kLayers) all.push_back(def->type);
    return all;
  }();
  return names;
}

Names initializers() {
  static constexpr std::string_view kNames[] = {
      "glorot_uniform", "glorot_normal", "he_uniform",     "he_normal",
      "lecun_uniform",  "lecun_normal",  "random_uniform", "random_normal",
      "zeros",          "ones"};
  return kNames;
}

std::string& scope_device() { return current_scope; }

Layer make_layer(std::string_view type) {
  Layer layer;
  layer.type = type;
  layer.device = scope_device();
  const LayerDef* def = find_layer(type);
  if (def != nullptr && def->set_defaults != nullptr) def->set_defaults(layer);
  return layer;
}

}  // namespace plimsoll::train
