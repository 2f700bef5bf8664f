#include "ops/convolution/conv_gather.h"

#include <algorithm>
#include <iterator>

namespace plimsoll::ops {

bool GatherAxis::has_adjacent_taps() const {
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] != offsets[i - 1] + 1) return false;
  }
  return true;
}

std::vector<GatherAxis> gather_axes(const ConvShape& shape, ConvPass pass,
                                    int axis) {
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t stride = shape.settings.strides[at];
  const std::int64_t dilation = shape.settings.dilations[at];
  const std::int64_t before = shape.settings.padding[2 * at];
  std::vector<GatherAxis> axes;
  if (pass != ConvPass::data_grad) {
    GatherAxis one;
    one.count = shape.out[at];
    one.source_step = stride;
    one.source_extent = shape.in[at];
    for (std::int64_t k = 0; k < shape.kernel[at]; ++k) {
      one.taps.push_back(k);
      one.offsets.push_back(k * dilation - before);
    }
    axes.push_back(std::move(one));
    return axes;
  }
  for (std::int64_t first = 0; first < stride && first < shape.in[at];
       ++first) {
    GatherAxis phase;
    phase.first = first;
    phase.step = stride;
    phase.count = (shape.in[at] - first + stride - 1) / stride;
    phase.source_extent = shape.out[at];
    // Backwards, so that neighbours in the kernel read neighbours in order.
    for (std::int64_t k = shape.kernel[at] - 1; k >= 0; --k) {
      const std::int64_t reach = first + before - k * dilation;
      if (reach % stride != 0) continue;
      phase.taps.push_back(k);
      phase.offsets.push_back(reach / stride);
    }
    if (!phase.taps.empty()) axes.push_back(std::move(phase));
  }
  return axes;
}

Gathers gathers_of(const ConvShape& shape, ConvPass pass) {
  const auto rows = gather_axes(shape, pass, 0);
  const auto columns = gather_axes(shape, pass, 1);
  Gathers gathers;
  for (const GatherAxis& down : rows) {
    for (const GatherAxis& across : columns) {
      gathers.all.push_back(
          {down, across,
           pass == ConvPass::data_grad ? shape.filters : shape.channels});
    }
  }
  if (pass == ConvPass::data_grad) {
    const auto gaps = [&](const std::vector<GatherAxis>& axes, std::size_t at) {
      return std::ssize(axes) <
             std::min(shape.settings.strides[at], shape.in[at]);
    };
    gathers.leave_gaps = gaps(rows, 0) || gaps(columns, 1);
  }
  return gathers;
}

}  // namespace plimsoll::ops
