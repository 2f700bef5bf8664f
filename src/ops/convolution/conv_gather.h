// Convolutions as products of gathered pixels: y of x, and x's gradient of
// y's, are the same work along each axis. Position t of the result reads the
// source at t * source_step + offset, for each tap.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/convolution/conv_shape.h"

namespace plimsoll::ops {

struct GatherAxis {
  std::int64_t first = 0;  // the result's positions are first + t * step
  std::int64_t step = 1;
  std::int64_t count = 0;
  std::int64_t source_step = 1;
  std::int64_t source_extent = 0;
  std::vector<std::int64_t> taps;     // rows or columns of the kernel
  std::vector<std::int64_t> offsets;  // one a tap

  // Each position reads the one pixel at its own place.
  bool is_identity() const {
    return taps.size() == 1 && offsets[0] == 0 && source_step == 1 &&
           count == source_extent;
  }
  bool is_dense() const { return first == 0 && step == 1; }
  bool has_adjacent_taps() const;
};

// Forward: one axis. Back to the data: one for each position modulo the
// stride, since those share their taps; none where no tap reaches.
std::vector<GatherAxis> gather_axes(const ConvShape& shape, ConvPass pass,
                                    int axis);

// Some of the source's channels around some pixels of the result.
struct Gather {
  GatherAxis rows;
  GatherAxis columns;
  std::int64_t source_channels = 0;  // of the whole source

  std::int64_t pixels_of_image() const { return rows.count * columns.count; }
  std::int64_t taps() const {
    return static_cast<std::int64_t>(rows.taps.size() * columns.taps.size());
  }
};

// All pairs of the axes. Where they leave gaps the result is zero.
struct Gathers {
  std::vector<Gather> all;
  bool leave_gaps = false;
};
Gathers gathers_of(const ConvShape& shape, ConvPass pass);

}  // namespace plimsoll::ops
