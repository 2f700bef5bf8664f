// Which pixels of one axis make which, in whole numbers: exact, and the same
// on every device.
#pragma once

#include <algorithm>
#include <cstdint>

namespace plimsoll::ops {

// One axis: so many pixels of the images, so many of the result.
struct ResizeAxis {
  std::int64_t from = 1;
  std::int64_t to = 1;
  bool nearest = false;
};

// A pixel of the result: `low` and its neighbour `high`, which has the weight
// part / whole.
struct ResizeTap {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t part = 0;
  std::int64_t whole = 1;
};

inline std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

// The centre (i + 1/2) * from / to, and half a pixel back where two share it.
inline ResizeTap resize_tap(const ResizeAxis& axis, std::int64_t i) {
  const std::int64_t whole = 2 * axis.to;
  const std::int64_t centre = (2 * i + 1) * axis.from;
  if (axis.nearest) return {centre / whole, centre / whole, 0, whole};
  const std::int64_t low = floor_div(centre - axis.to, whole);
  return {std::max<std::int64_t>(low, 0), std::min(low + 1, axis.from - 1),
          centre - axis.to - low * whole, whole};
}

// The pixels [begin, end) of the result that pixel h has a part in.
struct ResizeReach {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

inline ResizeReach resize_reach(const ResizeAxis& axis, std::int64_t h) {
  // Centres from `low` (not included when two share) up to `high`, in units
  // of 1 / (2 to) of a pixel.
  const std::int64_t whole = 2 * axis.to;
  const std::int64_t shift = axis.nearest ? 0 : axis.to;
  // First i with (2 i + 1) from - shift >= bound.
  const auto first = [&](std::int64_t bound) {
    return std::clamp<std::int64_t>(
        -floor_div(-(bound + shift - axis.from), 2 * axis.from), 0, axis.to);
  };
  ResizeReach reach;
  if (h > 0)
    reach.begin = first(axis.nearest ? whole * h : whole * (h - 1) + 1);
  reach.end = h + 1 < axis.from ? first(whole * (h + 1)) : axis.to;
  return reach;
}

}  // namespace plimsoll::ops
