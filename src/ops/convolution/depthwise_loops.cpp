// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/convolution/depthwise_loops.h"

#include "ops/normalization/stored_lanes.h"

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

template <class T>
inline bool is_row(const DepthwiseTaps<T>& taps, std::int64_t k) {
  const std::int64_t row = taps.row + taps.row_offsets[k];
  return row >= 0 && row < taps.rows;
}

template <class T>
inline const T* row_at(const DepthwiseTaps<T>& taps, std::int64_t k) {
  return taps.source +
         (taps.row + taps.row_offsets[k]) * taps.columns * taps.channels;
}

template <class T>
void row(const DepthwiseRow<T>& args) {
  using C = Computed<T>;
  const DepthwiseTaps<T>& taps = args.taps;
  const std::int64_t n = taps.channels;
  for (std::int64_t j = 0; j < taps.count; ++j) {
    T* out = args.out + j * args.out_step;
    for_lanes(n, [&](std::int64_t i, std::int64_t end) {
      Lanes<C> sum = {};
      if (args.bias != nullptr) load_lanes(args.bias, i, end, C(0), sum);
      for (std::int64_t k = 0; k < taps.tap_rows; ++k) {
        if (!is_row(taps, k)) continue;
        const T* line = row_at(taps, k);
        const C* weights = args.weights + k * taps.tap_columns * n;
        for (std::int64_t l = 0; l < taps.tap_columns; ++l) {
          const std::int64_t column =
              j * taps.column_step + taps.column_offsets[l];
          if (column < 0 || column >= taps.columns) continue;
          Lanes<C> x, w;
          load_wide(line + column * n, i, end, C(0), x);
          load_lanes(weights + l * n, i, end, C(0), w);
          sum += x * w;
        }
      }
      // A NaN passes.
      if (args.relu) sum = sum < C(0) ? Lanes<C>{} : sum;
      store_narrow(sum, out, i, end);
    });
  }
}

// Pixels [begin, end) whose tap l lies inside.
template <class T>
inline void inside(const DepthwiseTaps<T>& taps, std::int64_t l,
                   std::int64_t& begin, std::int64_t& end) {
  const std::int64_t offset = taps.column_offsets[l];
  const std::int64_t step = taps.column_step;
  begin = offset < 0 ? (-offset + step - 1) / step : 0;
  const std::int64_t last = taps.columns - 1 - offset;
  end = last < 0 ? 0 : last / step + 1;
  if (end > taps.count) end = taps.count;
}

template <class T>
void sums(const DepthwiseSums<T>& args) {
  using C = Computed<T>;
  const DepthwiseTaps<T>& taps = args.taps;
  const std::int64_t n = taps.channels;
  for_lanes(n, [&](std::int64_t i, std::int64_t stop) {
    for (std::int64_t k = 0; k < taps.tap_rows; ++k) {
      if (!is_row(taps, k)) continue;
      const T* line = row_at(taps, k);
      for (std::int64_t l = 0; l < taps.tap_columns; ++l) {
        C* to = args.sums + (k * taps.tap_columns + l) * n;
        std::int64_t j, end;
        inside(taps, l, j, end);
        const T* x = line + (j * taps.column_step + taps.column_offsets[l]) * n;
        const T* dy = args.dy + j * n;
        // Two sums that do not wait for each other.
        Lanes<C> even, odd = {};
        load_lanes(to, i, stop, C(0), even);
        for (; j < end; ++j) {
          Lanes<C> a, b;
          load_wide(dy, i, stop, C(0), a);
          load_wide(x, i, stop, C(0), b);
          const Lanes<C> product = a * b;
          const Lanes<C> sum = odd + product;
          odd = even;
          even = sum;
          x += taps.column_step * n;
          dy += n;
        }
        even += odd;
        store_lanes(even, to, i, stop);
      }
    }
  });
}

template <class T>
constexpr DepthwiseLoops<T> loops() {
  return {row<T>, sums<T>};
}

}  // namespace

DepthwiseTables depthwise_tables() {
  return {loops<float>(), loops<double>(), loops<Bf16>(), loops<F16>()};
}

}  // namespace plimsoll::ops::PLIMSOLL_ISA
