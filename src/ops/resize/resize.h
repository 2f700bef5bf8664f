// Images [B, H, W, C] at another height and width.
#pragma once

#include <cstdint>
#include <span>

#include "graph/builder.h"

namespace plimsoll::ops {

enum class ResizeMethod : std::uint8_t { bilinear, nearest };

// Pixels have their centres at halves, the image's border repeats, and nothing
// is smoothed where it shrinks: as tf.image.resize, and torch's interpolate
// with align_corners=False ("nearest" is its "nearest-exact").
graph::ValueId resize(graph::Builder& builder, graph::ValueId images,
                      std::int64_t height, std::int64_t width,
                      ResizeMethod method);

std::span<const graph::OpDef* const> resize_ops();

}  // namespace plimsoll::ops
