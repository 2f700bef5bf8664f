// A convolution at fixed shapes, as kernels see it: always from the images x
// through w to y, also where a gradient goes back.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "graph/op_def.h"
#include "ops/convolution/convolution.h"

namespace plimsoll::ops {

// Of extents, strides, dilations and paddings: products of two such numbers
// stay far inside i64.
inline constexpr std::int64_t kMostConvNumber = std::int64_t{1} << 24;

enum class ConvPass : std::uint8_t { forward, data_grad, weight_grad };

struct ConvShape {
  std::int64_t batch = 0;
  std::array<std::int64_t, 2> in = {};  // height, width of x
  std::int64_t channels = 0;
  std::array<std::int64_t, 2> kernel = {};
  std::array<std::int64_t, 2> out = {};  // height, width of y
  std::int64_t filters = 0;
  Conv2dSettings settings;
  bool bias = false;
  bool relu = false;
  bool wide = false;  // sums of bf16 or f16 are written in f32

  std::int64_t channels_per_group() const { return channels / settings.groups; }
  std::int64_t filters_per_group() const { return filters / settings.groups; }
  bool is_depthwise() const {
    return settings.groups == channels && filters == channels;
  }
  std::int64_t weights() const {
    return filters * kernel[0] * kernel[1] * channels_per_group();
  }
  double flops() const;
  double pixels() const;  // elements of x and y
};

Conv2dSettings settings_of(const graph::Attrs& attrs);
graph::Attrs attrs_of(const Conv2dSettings& settings);

// Rows (axis 0) or columns (axis 1) of y; below 1 where the kernel does not
// fit.
std::int64_t conv_extent(const Conv2dSettings& settings, int axis,
                         std::int64_t size, std::int64_t kernel);

ConvShape conv_shape(ConvPass pass, std::span<const graph::TensorType> inputs,
                     std::span<const graph::TensorType> outputs,
                     const graph::Attrs& attrs);

}  // namespace plimsoll::ops
