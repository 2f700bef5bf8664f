// The largest or the mean of each window of images [B, H, W, C], one result a
// channel.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "graph/builder.h"

namespace plimsoll::ops {

struct Pool2dSettings {
  std::array<std::int64_t, 2> window{2, 2};  // height, width
  std::array<std::int64_t, 2> strides{2, 2};
  std::array<std::int64_t, 4> padding{0, 0, 0, 0};  // top, bottom, left, right
};

// The settings with the padding of Keras's "same": ceil(extent / stride)
// windows each way, an odd pixel at the bottom and the right.
Pool2dSettings same_pool_padding(Pool2dSettings settings, std::int64_t height,
                                 std::int64_t width);

// Padding never wins; NaN does. The gradient goes to the first of the largest
// in the window's rows, as in PyTorch, by way of its place: a byte a result
// (four for windows over 256) is what backward keeps.
graph::ValueId max_pool2d(graph::Builder& builder, graph::ValueId x,
                          const Pool2dSettings& settings);
// Padding is not counted, as in Keras.
graph::ValueId avg_pool2d(graph::Builder& builder, graph::ValueId x,
                          const Pool2dSettings& settings);
// Of whole images: [B, C].
graph::ValueId global_max_pool2d(graph::Builder& builder, graph::ValueId x);
graph::ValueId global_avg_pool2d(graph::Builder& builder, graph::ValueId x);

std::span<const graph::OpDef* const> pooling_ops();

}  // namespace plimsoll::ops
