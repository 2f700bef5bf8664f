// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/pooling/pooling_loops.h"

#include "ops/normalization/stored_lanes.h"

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

struct Range {
  std::int64_t begin, end;
};

// The pixels that window `i` covers.
inline Range covered(const PoolAxis& axis, std::int64_t i) {
  const std::int64_t begin = i * axis.stride - axis.before;
  const std::int64_t end = begin + axis.window;
  return {begin < 0 ? 0 : begin, end < axis.from ? end : axis.from};
}

// The windows that cover pixel `h`.
inline Range covering(const PoolAxis& axis, std::int64_t h) {
  const std::int64_t place = h + axis.before;
  const std::int64_t end = place / axis.stride + 1;
  const std::int64_t early = place - axis.window + 1;
  return {early > 0 ? (early + axis.stride - 1) / axis.stride : 0,
          end < axis.to ? end : axis.to};
}

// The same for pixel `w` from those of the pixel before, without a division.
inline void advance(const PoolAxis& axis, std::int64_t w, Range& windows) {
  const std::int64_t place = w + axis.before;
  while (windows.end < axis.to && windows.end * axis.stride <= place) {
    ++windows.end;
  }
  while (windows.begin * axis.stride + axis.window <= place) ++windows.begin;
}

template <class C>
using Word = std::conditional_t<sizeof(C) == 8, std::uint64_t, std::uint32_t>;

typedef std::uint8_t Bytes __attribute__((vector_size(16)));
typedef LaneBits<float> Words;

// Step by step: a conversion over more than one size goes lane by lane.
inline void widen_places(const Bytes& bytes, Words& words) {
  const HalfBits halves = __builtin_convertvector(bytes, HalfBits);
  words = __builtin_convertvector(halves, Words);
}
inline void widen_places(const Words& from, Words& words) { words = from; }
inline void narrow_places(const Words& words, Bytes& bytes) {
  const HalfBits halves = __builtin_convertvector(words, HalfBits);
  bytes = __builtin_convertvector(halves, Bytes);
}
inline void narrow_places(const Words& from, Words& words) { words = from; }

template <class Place>
using Packed = std::conditional_t<sizeof(Place) == 1, Bytes, Words>;

// As wide as the values, so that one comparison serves both.
template <class C, class Place>
inline void store_places(const LaneBits<C>& lanes, Place* to, std::int64_t n) {
  const Words words = __builtin_convertvector(lanes, Words);
  Packed<Place> packed;
  narrow_places(words, packed);
  if (n >= kRowLanes) {
    __builtin_memcpy(to, &packed, sizeof(packed));
    return;
  }
  Place some[kRowLanes];
  __builtin_memcpy(some, &packed, sizeof(packed));
  for (std::int64_t j = 0; j < n; ++j) to[j] = some[j];
}

template <class C, class Place>
inline void load_places(const Place* from, std::int64_t n, LaneBits<C>& lanes) {
  Packed<Place> packed;
  if (n >= kRowLanes) {
    __builtin_memcpy(&packed, from, sizeof(packed));
  } else {
    Place some[kRowLanes] = {};
    for (std::int64_t j = 0; j < n; ++j) some[j] = from[j];
    __builtin_memcpy(&packed, some, sizeof(packed));
  }
  Words words;
  widen_places(packed, words);
  lanes = __builtin_convertvector(words, LaneBits<C>);
}

template <class T, class Place>
void max_forward(const PoolShape& shape, const T* image, std::int64_t i, T* y,
                 Place* places) {
  using C = Computed<T>;
  const std::int64_t channels = shape.channels;
  const Range rows = covered(shape.rows, i);
  const std::int64_t top = i * shape.rows.stride - shape.rows.before;
  for (std::int64_t j = 0; j < shape.columns.to; ++j) {
    const Range columns = covered(shape.columns, j);
    const std::int64_t left = j * shape.columns.stride - shape.columns.before;
    for_lanes(channels, [&](std::int64_t c, std::int64_t end) {
      Lanes<C> best;
      load_wide(
          image + (rows.begin * shape.columns.from + columns.begin) * channels,
          c, end, C(0), best);
      const LaneBits<C> none = {};
      LaneBits<C> at = none + static_cast<Word<C>>((rows.begin - top) *
                                                       shape.columns.window +
                                                   columns.begin - left);
      for (std::int64_t h = rows.begin; h < rows.end; ++h) {
        const T* row = image + h * shape.columns.from * channels;
        for (std::int64_t w = columns.begin; w < columns.end; ++w) {
          Lanes<C> v;
          load_wide(row + w * channels, c, end, C(0), v);
          const LaneBits<C> here =
              none +
              static_cast<Word<C>>((h - top) * shape.columns.window + w - left);
          // The first NaN stays.
          const auto better = ((v > best) | (v != v)) & (best == best);
          best = better ? v : best;
          at = better ? here : at;
        }
      }
      store_narrow(best, y + j * channels, c, end);
      store_places<C>(at, places + j * channels + c, end - c);
    });
  }
}

template <class T, class Place>
void max_backward(const PoolShape& shape, const T* dy, const Place* places,
                  std::int64_t h, T* dx) {
  using C = Computed<T>;
  const std::int64_t channels = shape.channels;
  const Range rows = covering(shape.rows, h);
  Range columns = {0, 0};
  for (std::int64_t w = 0; w < shape.columns.from; ++w) {
    advance(shape.columns, w, columns);
    for_lanes(channels, [&](std::int64_t c, std::int64_t end) {
      const Lanes<C> zero = {};
      const LaneBits<C> none = {};
      Lanes<C> sum = {};
      for (std::int64_t i = rows.begin; i < rows.end; ++i) {
        const std::int64_t down = h + shape.rows.before - i * shape.rows.stride;
        for (std::int64_t j = columns.begin; j < columns.end; ++j) {
          const std::int64_t across =
              w + shape.columns.before - j * shape.columns.stride;
          const std::int64_t window = (i * shape.columns.to + j) * channels;
          Lanes<C> flow;
          load_wide(dy + window, c, end, C(0), flow);
          LaneBits<C> at;
          load_places<C>(places + window + c, end - c, at);
          const LaneBits<C> here =
              none + static_cast<Word<C>>(down * shape.columns.window + across);
          sum += at == here ? flow : zero;
        }
      }
      store_narrow(sum, dx + w * channels, c, end);
    });
  }
}

template <class T>
void average(const PoolShape& shape, const T* image, std::int64_t i, T* y) {
  using C = Computed<T>;
  const std::int64_t channels = shape.channels;
  const Range rows = covered(shape.rows, i);
  for (std::int64_t j = 0; j < shape.columns.to; ++j) {
    const Range columns = covered(shape.columns, j);
    const C count =
        static_cast<C>((rows.end - rows.begin) * (columns.end - columns.begin));
    for_lanes(channels, [&](std::int64_t c, std::int64_t end) {
      Lanes<C> sum = {};
      for (std::int64_t h = rows.begin; h < rows.end; ++h) {
        const T* row = image + h * shape.columns.from * channels;
        for (std::int64_t w = columns.begin; w < columns.end; ++w) {
          Lanes<C> v;
          load_wide(row + w * channels, c, end, C(0), v);
          sum += v;
        }
      }
      sum /= count;
      store_narrow(sum, y + j * channels, c, end);
    });
  }
}

template <class T>
void average_grad(const PoolShape& shape, const T* dy, std::int64_t h, T* dx) {
  using C = Computed<T>;
  const std::int64_t channels = shape.channels;
  const Range rows = covering(shape.rows, h);
  Range columns = {0, 0};
  for (std::int64_t w = 0; w < shape.columns.from; ++w) {
    advance(shape.columns, w, columns);
    for_lanes(channels, [&](std::int64_t c, std::int64_t end) {
      Lanes<C> sum = {};
      for (std::int64_t i = rows.begin; i < rows.end; ++i) {
        const Range down = covered(shape.rows, i);
        for (std::int64_t j = columns.begin; j < columns.end; ++j) {
          const Range across = covered(shape.columns, j);
          const C count = static_cast<C>((down.end - down.begin) *
                                         (across.end - across.begin));
          Lanes<C> flow;
          load_wide(dy + (i * shape.columns.to + j) * channels, c, end, C(0),
                    flow);
          flow /= count;
          sum += flow;
        }
      }
      store_narrow(sum, dx + w * channels, c, end);
    });
  }
}

template <class T>
PoolLoops<T> loops() {
  return {{max_forward<T, std::uint8_t>, max_backward<T, std::uint8_t>},
          {max_forward<T, std::int32_t>, max_backward<T, std::int32_t>},
          average<T>,
          average_grad<T>};
}

}  // namespace

PoolTables pool_tables() {
  return {loops<float>(), loops<double>(), loops<Bf16>(), loops<F16>()};
}

}  // namespace plimsoll::ops::PLIMSOLL_ISA
