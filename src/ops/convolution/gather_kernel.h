// What our own convolutions share: pixels gathered into rows of a matrix, and
// conversions from and to what is stored.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/half.h"
#include "ops/convolution/conv_gather.h"
#include "ops/normalization/stored.h"

namespace plimsoll::ops {

inline float widened(Bf16 value) { return bf16_to_float(value.bits); }
inline float widened(F16 value) { return f16_to_float(value.bits); }
inline float widened(float value) { return value; }
inline double widened(double value) { return value; }

template <class T>
T narrowed(Computed<T> value) {
  if constexpr (std::is_same_v<T, Bf16>) {
    return {float_to_bf16(value)};
  } else if constexpr (std::is_same_v<T, F16>) {
    return {float_to_f16(value)};
  } else {
    return value;
  }
}

template <class T>
inline constexpr bool kIsComputed = std::is_same_v<T, Computed<T>>;

template <class T>
void widen_run(const T* from, std::int64_t count, Computed<T>* to) {
  constexpr std::int64_t kShort = 16;  // below, a call costs more
  if (kIsComputed<T> && count >= kShort) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = widened(from[i]);
}

// `channels` of them from `x` on, tap after tap, for each of `count` pixels of
// the result from `first` on; what lies outside is zero. A pixel's row is
// taps * channels long.
template <class T>
void gather_pixels(const Gather& gather, const T* x, std::int64_t channels,
                   std::int64_t first, std::int64_t count, Computed<T>* to) {
  using C = Computed<T>;
  const GatherAxis& rows = gather.rows;
  const GatherAxis& columns = gather.columns;
  const auto across = static_cast<std::int64_t>(columns.taps.size());
  const bool runs =
      channels == gather.source_channels && columns.has_adjacent_taps();
  for (std::int64_t pixel = first; pixel < first + count; ++pixel) {
    const std::int64_t image = pixel / gather.pixels_of_image();
    const std::int64_t i =
        pixel / columns.count % rows.count * rows.source_step;
    const std::int64_t j = pixel % columns.count * columns.source_step;
    for (const std::int64_t down : rows.offsets) {
      const std::int64_t row = i + down;
      if (row < 0 || row >= rows.source_extent) {
        std::fill_n(to, across * channels, C(0));
        to += across * channels;
        continue;
      }
      const T* line = x + (image * rows.source_extent + row) *
                              columns.source_extent * gather.source_channels;
      if (runs && j + columns.offsets[0] >= 0 &&
          j + columns.offsets[0] + across <= columns.source_extent) {
        widen_run(line + (j + columns.offsets[0]) * channels, across * channels,
                  to);
        to += across * channels;
        continue;
      }
      for (const std::int64_t right : columns.offsets) {
        const std::int64_t column = j + right;
        if (column < 0 || column >= columns.source_extent) {
          std::fill_n(to, channels, C(0));
        } else {
          widen_run(line + column * gather.source_channels, channels, to);
        }
        to += channels;
      }
    }
  }
}

}  // namespace plimsoll::ops
