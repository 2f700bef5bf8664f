// What layers over images [B, H, W, C] share.
#pragma once

#include <array>

#include "train/layers/layer_def.h"

namespace plimsoll::train {

// Each way: products of two such numbers stay far inside i64.
inline constexpr IntegerRange kPixels = {.least = 1, .most = 1 << 24};

namespace keys {
inline constexpr LayerKey kStrides = {
    .key = "strides", .field = &Layer::strides, .integers = kPixels};
inline constexpr LayerKey kPadding = {
    .key = "padding", .field = &Layer::padding, .integers = kPixels};
}  // namespace keys

// Whether the input is images; the error says what it is instead.
Status check_images(const LayerContext& context);

}  // namespace plimsoll::train
