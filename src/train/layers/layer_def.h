// A type of layer in one value: its name, its keys, its defaults and how it
// becomes nodes. Each type stands in a file of this folder, with the function
// that makes it in C++.
#pragma once

#include <span>
#include <string_view>

#include "train/layers/layer_context.h"
#include "train/layers/layer_key.h"

namespace plimsoll::train {

struct LayerDef {
  // What becomes of class indices, where the model's input is such.
  enum class Indices : std::uint8_t { refused, passed_on, read };

  std::string_view type;
  std::span<const LayerKey> keys = {};
  Result<LayerResult> (*build)(LayerContext& context) = nullptr;
  // Where it starts otherwise than a plain Layer does.
  void (*set_defaults)(Layer& layer) = nullptr;
  int least_inputs = 1;
  int most_inputs = 1;
  Indices indices = Indices::refused;
};

inline constexpr int kAnyNumber = 1 << 20;  // of inputs

std::span<const LayerDef* const> layer_defs();
const LayerDef* find_layer(std::string_view type);
Names layer_types();

// With its defaults; placed by the scope that it is made in.
Layer make_layer(std::string_view type);
// The innermost scope's device on this thread; empty outside of any.
std::string& scope_device();

// The registry's lines.
extern const LayerDef kDense, kActivationLayer, kDropout, kFlatten, kEmbedding,
    kLayerNormalization, kRmsNormalization, kGroupNormalization,
    kBatchNormalization, kConv2d, kDepthwiseConv2d, kConv2dTranspose,
    kMaxPooling2d, kAveragePooling2d, kGlobalMaxPooling2d,
    kGlobalAveragePooling2d, kZeroPadding2d, kUpSampling2d, kReshape, kPermute,
    kSlice, kAdd, kSubtract, kMultiply, kAverage, kMaximum, kMinimum,
    kConcatenate, kDot, kPositionEmbedding, kMultiHeadAttention, kLstm, kGru;

}  // namespace plimsoll::train
