// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/normalization/channel_norm_loops.h"

#include "ops/normalization/stored_lanes.h"

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

// Channels whose sums stay in registers: rows are read in pieces of this many
// lanes. A channel's sums do not depend on it.
constexpr int kTile = 4;

// A block is read twice, the second time from the cache. An f32 lane adds at
// most this many values before they go to double.
constexpr std::int64_t kMostRows = 128;
constexpr std::int64_t kLeastRows = 16;
constexpr std::int64_t kBlockBytes = 128 * 1024;

template <class T>
std::int64_t block_rows(std::int64_t channels) {
  const std::int64_t fitting =
      kBlockBytes / (channels * static_cast<std::int64_t>(sizeof(T)));
  if (fitting < kLeastRows) return kLeastRows;
  return fitting < kMostRows ? fitting : kMostRows;
}

void join_moments(const ChannelMoments& moments, std::int64_t rows,
                  const ChannelMoments& more, std::int64_t more_rows,
                  std::int64_t channels) {
  const auto count = static_cast<double>(more_rows);
  const double share = count / static_cast<double>(rows + more_rows);
  const double weight = static_cast<double>(rows) * share;
  for (std::int64_t j = 0; j < channels; ++j) {
    const double distance = more.mean[j] - moments.mean[j];
    moments.mean[j] += distance * share;
    moments.squares[j] += more.squares[j] + distance * distance * weight;
  }
}

// Of `width` channels (the tile's at most) and one block of rows, joined with
// those of the rows before.
template <class T, int kVectors>
inline void tile_moments(const T* x, std::int64_t rows, std::int64_t stride,
                         std::int64_t width, std::int64_t rows_before,
                         const ChannelMoments& made) {
  using C = Computed<T>;
  constexpr std::int64_t kWidth = kVectors * kRowLanes;
  const C inverse = C(1) / static_cast<C>(rows);
  Lanes<C> most[kVectors] = {};
  for (std::int64_t r = 0; r < rows; ++r) {
    for (int k = 0; k < kVectors; ++k) {
      Lanes<C> v;
      load_wide(x + r * stride, k * kRowLanes, width, C(0), v);
      most[k] += v;
    }
  }
  for (int k = 0; k < kVectors; ++k) most[k] *= inverse;
  Lanes<C> rest[kVectors] = {};
  Lanes<C> squares[kVectors] = {};
  for (std::int64_t r = 0; r < rows; ++r) {
    for (int k = 0; k < kVectors; ++k) {
      Lanes<C> v;
      load_wide(x + r * stride, k * kRowLanes, width, C(0), v);
      v -= most[k];
      rest[k] += v;
      squares[k] += v * v;
    }
  }
  C parts[3][kWidth];
  __builtin_memcpy(parts[0], most, sizeof(most));
  __builtin_memcpy(parts[1], rest, sizeof(rest));
  __builtin_memcpy(parts[2], squares, sizeof(squares));
  const auto count = static_cast<double>(rows);
  double means[kWidth];
  double sums[kWidth];
  for (std::int64_t j = 0; j < kWidth; ++j) {
    const double left = static_cast<double>(parts[1][j]) / count;
    means[j] = static_cast<double>(parts[0][j]) + left;
    const double sum = static_cast<double>(parts[2][j]) -
                       left * static_cast<double>(parts[1][j]);
    sums[j] = sum < 0 ? 0 : sum;
  }
  if (rows_before > 0) {
    return join_moments(made, rows_before, {means, sums}, rows, width);
  }
  for (std::int64_t j = 0; j < width; ++j) made.mean[j] = means[j];
  for (std::int64_t j = 0; j < width; ++j) made.squares[j] = sums[j];
}

// Calls run(first channel) for whole tiles, and run_one(first channel, width)
// for the vectors that are left.
template <class Run, class RunOne>
inline void for_tiles(std::int64_t channels, Run&& run, RunOne&& run_one) {
  constexpr std::int64_t kWidth = kTile * kRowLanes;
  std::int64_t c = 0;
  for (; c + kWidth <= channels; c += kWidth) run(c);
  for (; c < channels; c += kRowLanes) {
    run_one(c, channels - c < kRowLanes ? channels - c : kRowLanes);
  }
}

template <class T>
void moments(const T* x, std::int64_t rows, std::int64_t channels,
             const ChannelMoments& made) {
  // Nothing has no mean.
  for (std::int64_t c = 0; rows == 0 && c < channels; ++c) {
    made.mean[c] = __builtin_nan("");
    made.squares[c] = 0;
  }
  const std::int64_t block = block_rows<T>(channels);
  for (std::int64_t done = 0; done < rows; done += block) {
    const std::int64_t count = rows - done < block ? rows - done : block;
    const T* from = x + done * channels;
    for_tiles(
        channels,
        [&](std::int64_t c) {
          tile_moments<T, kTile>(from + c, count, channels, kTile * kRowLanes,
                                 done, {made.mean + c, made.squares + c});
        },
        [&](std::int64_t c, std::int64_t width) {
          tile_moments<T, 1>(from + c, count, channels, width, done,
                             {made.mean + c, made.squares + c});
        });
  }
}

template <class T, int kVectors>
inline void tile_gradient_sums(const T* dy, const T* x, std::int64_t rows,
                               std::int64_t stride, std::int64_t width,
                               const Computed<T>* shift, double* sum,
                               double* dot) {
  using C = Computed<T>;
  Lanes<C> sums[kVectors] = {};
  Lanes<C> dots[kVectors] = {};
  Lanes<C> shifts[kVectors];
  for (int k = 0; k < kVectors; ++k) {
    load_lanes(shift, k * kRowLanes, width, C(0), shifts[k]);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (int k = 0; k < kVectors; ++k) {
      Lanes<C> flow, v;
      load_wide(dy + r * stride, k * kRowLanes, width, C(0), flow);
      load_wide(x + r * stride, k * kRowLanes, width, C(0), v);
      sums[k] += flow;
      dots[k] += flow * (v - shifts[k]);
    }
  }
  C parts[2][kVectors * kRowLanes];
  __builtin_memcpy(parts[0], sums, sizeof(sums));
  __builtin_memcpy(parts[1], dots, sizeof(dots));
  for (std::int64_t j = 0; j < width; ++j) {
    sum[j] += static_cast<double>(parts[0][j]);
    dot[j] += static_cast<double>(parts[1][j]);
  }
}

template <class T>
void gradient_sums(const T* dy, const T* x, std::int64_t rows,
                   std::int64_t channels, const Computed<T>* shift, double* sum,
                   double* dot) {
  const std::int64_t block = block_rows<T>(channels);
  for (std::int64_t done = 0; done < rows; done += block) {
    const std::int64_t count = rows - done < block ? rows - done : block;
    const std::int64_t from = done * channels;
    for_tiles(
        channels,
        [&](std::int64_t c) {
          tile_gradient_sums<T, kTile>(dy + from + c, x + from + c, count,
                                       channels, kTile * kRowLanes, shift + c,
                                       sum + c, dot + c);
        },
        [&](std::int64_t c, std::int64_t width) {
          tile_gradient_sums<T, 1>(dy + from + c, x + from + c, count, channels,
                                   width, shift + c, sum + c, dot + c);
        });
  }
}

template <class T>
void normalize(const T* x, std::int64_t rows, std::int64_t channels,
               const ChannelFactors<Computed<T>>& factors, T* y) {
  using C = Computed<T>;
  for (std::int64_t r = 0; r < rows; ++r, x += channels, y += channels) {
    for_lanes(channels, [&](std::int64_t i, std::int64_t end) {
      Lanes<C> v, shift, scale, offset;
      load_wide(x, i, end, C(0), v);
      load_lanes(factors.shift, i, end, C(0), shift);
      load_lanes(factors.scale, i, end, C(0), scale);
      load_lanes(factors.offset, i, end, C(0), offset);
      v = (v - shift) * scale + offset;
      store_narrow(v, y, i, end);
    });
  }
}

template <class T>
void input_gradient(const T* dy, const T* x, std::int64_t rows,
                    std::int64_t channels,
                    const ChannelFactors<Computed<T>>& factors, T* dx) {
  using C = Computed<T>;
  for (std::int64_t r = 0; r < rows; ++r) {
    for_lanes(channels, [&](std::int64_t i, std::int64_t end) {
      Lanes<C> flow, v, shift, scale, slope, offset;
      load_wide(dy, i, end, C(0), flow);
      load_wide(x, i, end, C(0), v);
      load_lanes(factors.shift, i, end, C(0), shift);
      load_lanes(factors.scale, i, end, C(0), scale);
      load_lanes(factors.slope, i, end, C(0), slope);
      load_lanes(factors.offset, i, end, C(0), offset);
      v = flow * scale + (v - shift) * slope + offset;
      store_narrow(v, dx, i, end);
    });
    dy += channels;
    x += channels;
    dx += channels;
  }
}

template <class T>
ChannelNormLoops<T> loops() {
  return {moments<T>, gradient_sums<T>, normalize<T>, input_gradient<T>};
}

}  // namespace

ChannelNormTables channel_norm_tables() {
  return {loops<float>(), loops<double>(), loops<Bf16>(), loops<F16>(),
          join_moments};
}

}  // namespace plimsoll::ops::PLIMSOLL_ISA
