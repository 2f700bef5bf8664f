// Convolutions of images [B, H, W, C] with kernels [O, KH, KW, C / groups],
// and their two gradients, each of which is a sum of the same products.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "graph/builder.h"

namespace plimsoll::ops {

struct Conv2dSettings {
  std::array<std::int64_t, 2> strides = {1, 1};
  std::array<std::int64_t, 2> dilations = {1, 1};
  std::array<std::int64_t, 4> padding = {0, 0, 0, 0};  // top, bottom, left,
                                                       // right
  std::int64_t groups = 1;  // as many as channels: depthwise
};

// The settings with the padding that keeps ceil(size / stride) rows and
// columns; an odd one goes to the bottom and the right, as in TensorFlow. Where
// the op refuses one of the numbers it stays as it is.
Conv2dSettings same_padding(Conv2dSettings settings, std::int64_t height,
                            std::int64_t width, std::int64_t kernel_height,
                            std::int64_t kernel_width);

// Ops: conv2d (x, w and at most a bias [O]), conv2d_data_grad (dy, w; attribute
// "input_shape"), conv2d_weight_grad (dy, x; "kernel_shape"). Attributes:
// "strides", "dilations", "padding", "groups" (absent: as in Conv2dSettings),
// of conv2d "activation" ("" or "relu"), and of conv2d_weight_grad "out" ("f32"
// where sums of bf16 or f16 are written so; a kernel that rounds them on the
// way says it by its name).
graph::ValueId conv2d(graph::Builder& builder, graph::ValueId x,
                      graph::ValueId w, const Conv2dSettings& settings);

// x [B, h, w, O] back to [B, height, width, C]: what conv2d of such an image
// gives is x's shape.
graph::ValueId conv2d_transpose(graph::Builder& builder, graph::ValueId x,
                                graph::ValueId w,
                                const Conv2dSettings& settings,
                                std::int64_t height, std::int64_t width);

std::span<const graph::OpDef* const> convolution_ops();

}  // namespace plimsoll::ops
