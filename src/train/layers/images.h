// What layers over images [B, H, W, C] share.
#pragma once

#include <array>

#include "train/layers/layer_def.h"

namespace plimsoll::train {

namespace keys {
inline constexpr LayerKey kStrides = {.key = "strides",
                                      .field = &Layer::strides};
inline constexpr LayerKey kPadding = {.key = "padding",
                                      .field = &Layer::padding};
}  // namespace keys

// Whether the input is images; the error says what it is instead.
Status check_images(const LayerContext& context);
// "valid", "same" or amounts; the error says what there is.
Status check_padding(const LayerContext& context);

}  // namespace plimsoll::train
