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
extern const LayerDef kDense;
extern const LayerDef kActivationLayer;
extern const LayerDef kDropout;
extern const LayerDef kFlatten;
extern const LayerDef kEmbedding;
extern const LayerDef kLayerNormalization;
extern const LayerDef kRmsNormalization;
extern const LayerDef kGroupNormalization;
extern const LayerDef kBatchNormalization;

}  // namespace plimsoll::train
