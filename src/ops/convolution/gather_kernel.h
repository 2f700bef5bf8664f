// What our own convolutions share: pixels gathered into rows of a matrix, and
// conversions from and to what is stored.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/half.h"
#include "ops/convolution/conv_gather.h"
#include "ops/normalization/stored.h"
#include "ops/simd/half_loops.h"

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
  if (count < kShort) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = widened(from[i]);
  } else if constexpr (kIsComputed<T>) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
  } else {
    static const HalfLoops loops = pick_half_loops();
    (std::is_same_v<T, Bf16> ? loops.widen_bf16 : loops.widen_f16)(&from->bits,
                                                                   to, count);
  }
}

template <class T>
void narrow_run(const Computed<T>* from, std::int64_t count, T* to) {
  constexpr std::int64_t kShort = 16;
  if (kIsComputed<T> || count < kShort) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = narrowed<T>(from[i]);
  } else if constexpr (!kIsComputed<T>) {
    static const HalfLoops loops = pick_half_loops();
    (std::is_same_v<T, Bf16> ? loops.narrow_bf16 : loops.narrow_f16)(
        from, &to->bits, count);
  }
}

// `count` runs of kRun elements.
template <int kRun, class T>
void short_runs(const T* from, std::int64_t from_step, Computed<T>* to,
                std::int64_t to_step, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    for (int j = 0; j < kRun; ++j) to[j] = widened(from[j]);
    from += from_step;
    to += to_step;
  }
}

template <class T>
void widen_runs(const T* from, std::int64_t from_step, std::int64_t run,
                Computed<T>* to, std::int64_t to_step, std::int64_t count) {
  switch (run) {
    case 1:
      return short_runs<1>(from, from_step, to, to_step, count);
    case 2:
      return short_runs<2>(from, from_step, to, to_step, count);
    case 3:
      return short_runs<3>(from, from_step, to, to_step, count);
    case 4:
      return short_runs<4>(from, from_step, to, to_step, count);
    case 5:
      return short_runs<5>(from, from_step, to, to_step, count);
    case 7:
      return short_runs<7>(from, from_step, to, to_step, count);
    case 8:
      return short_runs<8>(from, from_step, to, to_step, count);
    case 9:
      return short_runs<9>(from, from_step, to, to_step, count);
    default:
      break;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    widen_run(from + i * from_step, run, to + i * to_step);
  }
}

// One row of the source seen by `count` pixels from column `first` of a row of
// the result on.
template <class T>
void gather_line(const Gather& gather, const T* line, std::int64_t channels,
                 std::int64_t first, std::int64_t count, std::int64_t to_step,
                 Computed<T>* to) {
  using C = Computed<T>;
  const GatherAxis& columns = gather.columns;
  const std::int64_t step = columns.source_step;
  const std::int64_t across = std::ssize(columns.offsets);
  const auto tap_by_tap = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      C* run = to + i * to_step;
      for (const std::int64_t right : columns.offsets) {
        const std::int64_t column = (first + i) * step + right;
        if (column < 0 || column >= columns.source_extent) {
          std::fill_n(run, channels, C(0));
        } else {
          widen_run(line + column * gather.source_channels, channels, run);
        }
        run += channels;
      }
    }
  };
  if (channels != gather.source_channels || !columns.has_adjacent_taps()) {
    return tap_by_tap(0, count);
  }
  // Pixels all of whose taps lie inside have them in one run.
  const std::int64_t left = columns.offsets[0];
  const std::int64_t last = columns.source_extent - across - left;
  std::int64_t begin = left < 0 ? (-left + step - 1) / step : 0;
  std::int64_t end = last < 0 ? 0 : last / step + 1;
  begin = std::clamp<std::int64_t>(begin - first, 0, count);
  end = std::clamp<std::int64_t>(end - first, begin, count);
  tap_by_tap(0, begin);
  widen_runs(line + ((first + begin) * step + left) * channels, step * channels,
             across * channels, to + begin * to_step, to_step, end - begin);
  tap_by_tap(end, count);
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
  const std::int64_t run = std::ssize(columns.offsets) * channels;
  const std::int64_t depth = std::ssize(rows.offsets) * run;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t pixel = first + done;
    const std::int64_t image = pixel / gather.pixels_of_image();
    const std::int64_t i = pixel / columns.count % rows.count;
    const std::int64_t j = pixel % columns.count;
    const std::int64_t here = std::min(count - done, columns.count - j);
    for (std::size_t k = 0; k < rows.offsets.size(); ++k) {
      C* out = to + done * depth + static_cast<std::int64_t>(k) * run;
      const std::int64_t row = i * rows.source_step + rows.offsets[k];
      if (row < 0 || row >= rows.source_extent) {
        for (std::int64_t p = 0; p < here; ++p) {
          std::fill_n(out + p * depth, run, C(0));
        }
        continue;
      }
      const T* line = x + (image * rows.source_extent + row) *
                              columns.source_extent * gather.source_channels;
      gather_line(gather, line, channels, j, here, depth, out);
    }
    done += here;
  }
}

}  // namespace plimsoll::ops
