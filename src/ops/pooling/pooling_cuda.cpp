#include "ops/pooling/pooling_cuda.h"

#include <algorithm>
#include <array>
#include <string>

#include "ops/cuda_text.h"
#include "ops/pooling/pool_shape.h"
#include "ops/pooling/pooling_library_cuda.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// A place of a window is read once, and all places of a small one before the
// first is needed: loads that wait for each other leave the memory idle.
constexpr std::int64_t kHeldWindow = 9;
constexpr std::int64_t kReadAhead = 4;   // places of a larger one
constexpr std::int64_t kHeldBytes = 96;  // of the windows near a tile
// However small: each has registers of its own, and more while it is loaded.
constexpr std::int64_t kMostHeld = 16;

// A thread makes a few channels of a tile of the output, one of $tiles_h x
// $tiles_w, from images of $from_h x $from_w.
constexpr std::string_view kTiles = R"(  typedef $T T;
  typedef $C C;
  typedef $I I;
  for (I e = (I)block * 512 + threadIdx.x; e < $N; e += (I)blocks * 512) {
    const I c = e % $depth * $V;
    const i32 x = (i32)(e / $depth % $tiles_w);
    const i32 y = (i32)(e / ((I)$depth * $tiles_w) % $tiles_h);
    const I number = e / ((I)$depth * $tiles_w * $tiles_h);
    const I image = number * ((I)$from_h * $row) + c;
$tile  }
)";

// A window and what it covers of the images.
constexpr std::string_view kWindow =
    R"(    const i32 up = y * $stride_h - $top, left = x * $stride_w - $left;
    const auto covers = [&](i32 h, i32 w) {
      return $whole || (h >= 0 && h < $from_h && w >= 0 && w < $from_w);
    };
    const auto place = [&](i32 h, i32 w) {
      return read<$V>(in0 + image + ((I)h * $row + (I)w * $channels));
    };
$hold$start#pragma unroll $unroll
    for (i32 k = 0; k < $window_h * $window_w; ++k) {
      const i32 h = up + k / $window_w, w = left + k % $window_w;
      if (!covers(h, w)) continue;
      const Vec<T, $V> some = $some;
#pragma unroll
      for (int v = 0; v < $V; ++v) {
        const C next = load(some.v[v]);
$take      }
    }
)";

constexpr std::string_view kHoldPlaces =
    R"(    Vec<T, $V> held[$window_h * $window_w];
#pragma unroll
    for (i32 k = 0; k < $window_h * $window_w; ++k) {
      const i32 h = up + k / $window_w, w = left + k % $window_w;
      if (covers(h, w)) held[k] = place(h, w);
    }
)";

// Where nothing is above it, the first place has the largest.
constexpr std::string_view kStartMax = R"(    C best[$V];
    i32 at[$V];
#pragma unroll
    for (int v = 0; v < $V; ++v) {
      best[v] = -infinity_of<C>();
      at[v] = (up < 0 ? -up : 0) * $window_w + (left < 0 ? -left : 0);
    }
)";

// The first NaN stays.
constexpr std::string_view kLarger =
    R"(        if ((next > best[v] || next != next) && best[v] == best[v]) {
          best[v] = next;
          at[v] = k;
        }
)";

constexpr std::string_view kWriteMax = R"(    Vec<T, $V> result;
    Vec<$P, $V> places;
#pragma unroll
    for (int v = 0; v < $V; ++v) {
      result.v[v] = store<T>(best[v]);
      places.v[v] = ($P)at[v];
    }
    write<$V>(out0 + e * $V, result);
    write<$V>(out1 + e * $V, places);
)";

constexpr std::string_view kStartSum = R"(    C sum[$V];
    i32 count = 0;
#pragma unroll
    for (int v = 0; v < $V; ++v) sum[v] = 0;
)";

constexpr std::string_view kAdd =
    R"(        sum[v] = add(sum[v], next);
        if (v == 0) ++count;
)";

constexpr std::string_view kWriteAverage = R"(    Vec<T, $V> result;
#pragma unroll
    for (int v = 0; v < $V; ++v) result.v[v] = store<T>(div(sum[v], (C)count));
    write<$V>(out0 + e * $V, result);
)";

// Back, a tile is of the images: pixels between two strides, which the same
// $near_h x $near_w windows cover. Each pixel sums what flows back to it, and
// nobody else writes there.
constexpr std::string_view kBack =
    R"(    const i32 down = y * $tile_h, across = x * $tile_w;
    const i32 in_h = down % $stride_h, in_w = across % $stride_w;
    const i32 last_h = down / $stride_h, last_w = across / $stride_w;
    const auto there = [&](i32 i, i32 j) {
      return i >= 0 && i < $from_h && j >= 0 && j < $from_w;
    };
    const auto from = [&](i32 i, i32 j) {
      return image + ((I)i * $row + (I)j * $channels);
    };
$hold#pragma unroll
    for (i32 t = 0; t < $tile_h * $tile_w; ++t) {
      const i32 h = down + t / $tile_w - $top, w = across + t % $tile_w - $left;
      if (h < 0 || h >= $to_h || w < 0 || w >= $to_w) continue;
      C sum[$V];
#pragma unroll
      for (int v = 0; v < $V; ++v) sum[v] = 0;
$windows {
        const i32 below = in_h + t / $tile_w + (last_h - i) * $stride_h;
        const i32 right = in_w + t % $tile_w + (last_w - j) * $stride_w;
        if (below >= $window_h || right >= $window_w || !there(i, j)) continue;
        const Vec<T, $V> dy = $dy;
$take      }
      Vec<T, $V> dx;
#pragma unroll
      for (int v = 0; v < $V; ++v) dx.v[v] = store<T>(sum[v]);
      write<$V>(out0 + (((I)number * $to_h + h) * $to_w + w) * $channels + c,
                dx);
    }
)";

constexpr std::string_view kHeldWindows = R"(#pragma unroll
      for (i32 k = $near_h * $near_w - 1; k >= 0; --k)
      if (const i32 i = last_h - k / $near_w, j = last_w - k % $near_w; true))";

constexpr std::string_view kWindowsThere =
    R"(      const i32 early_h = last_h - ($near_h - 1);
      const i32 early_w = last_w - ($near_w - 1);
      for (i32 i = early_h > 0 ? early_h : 0; i <= last_h && i < $from_h; ++i)
#pragma unroll $ahead
      for (i32 j = early_w > 0 ? early_w : 0; j <= last_w && j < $from_w; ++j))";

constexpr std::string_view kHoldWindows =
    R"(    Vec<$of, $V> $held[$near_h * $near_w];
#pragma unroll
    for (i32 k = 0; k < $near_h * $near_w; ++k) {
      const i32 i = last_h - k / $near_w, j = last_w - k % $near_w;
      if (there(i, j)) $held[k] = read<$V>($input + from(i, j));
    }
)";

constexpr std::string_view kTakeMax =
    R"(        const Vec<$P, $V> places = $places;
#pragma unroll
        for (int v = 0; v < $V; ++v) {
          if ((i32)places.v[v] == below * $window_w + right) {
            sum[v] = add(sum[v], (C)load(dy.v[v]));
          }
        }
)";

// $to_h x $to_w are the images' pixels here.
constexpr std::string_view kTakeAverage =
    R"(        const i32 up = i * $stride_h - $top, left = j * $stride_w - $left;
        const i32 bottom = up + $window_h < $to_h ? up + $window_h : $to_h;
        const i32 end = left + $window_w < $to_w ? left + $window_w : $to_w;
        const C share = div((C)1, (C)((bottom - (up > 0 ? up : 0)) *
                                      (end - (left > 0 ? left : 0))));
#pragma unroll
        for (int v = 0; v < $V; ++v) {
          sum[v] = mul_add((C)load(dy.v[v]), share, sum[v]);
        }
)";

// Whether every window lies on the images.
bool all_whole(const PoolAxis& axis) {
  return axis.before == 0 &&
         (axis.to - 1) * axis.stride + axis.window <= axis.from;
}

// Windows of a side that cover the pixels between two strides.
std::int64_t windows_near(const PoolAxis& axis) {
  return 1 + (axis.window - 1) / axis.stride;
}

// How a thread's tile lies: of a side, a whole part of a stride. Several
// windows of several pixels make long texts, so tiles are then small.
struct Tile {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
};

std::int64_t part_of(std::int64_t stride, std::int64_t most) {
  std::int64_t part = std::min(stride, most);
  while (stride % part != 0) --part;
  return part;
}

Tile tile_of(const PoolShape& shape) {
  const bool one = windows_near(shape.rows) * windows_near(shape.columns) == 1;
  return {part_of(shape.rows.stride, 2),
          part_of(shape.columns.stride, one ? 8 : 2)};
}

std::string forward_text(const PoolShape& shape, bool max) {
  const std::int64_t places = shape.rows.window * shape.columns.window;
  const bool held = places <= kHeldWindow;
  const bool whole = all_whole(shape.rows) && all_whole(shape.columns);
  return cuda_text(kWindow, {{"hold", held ? kHoldPlaces : ""},
                             {"start", max ? kStartMax : kStartSum},
                             {"take", max ? kLarger : kAdd},
                             {"some", held ? "held[k]" : "place(h, w)"},
                             {"whole", whole ? "true" : "false"},
                             {"unroll", held ? places : kReadAhead}}) +
         std::string(max ? kWriteMax : kWriteAverage);
}

std::string back_text(const PoolShape& shape, bool max,
                      std::int64_t window_bytes) {
  const std::int64_t near =
      windows_near(shape.rows) * windows_near(shape.columns);
  const bool held = near <= kMostHeld && near * window_bytes <= kHeldBytes;
  const auto hold_near = [](std::string_view name, std::string_view of,
                            std::string_view input) {
    return cuda_text(kHoldWindows,
                     {{"held", name}, {"of", of}, {"input", input}});
  };
  std::string hold;
  if (held) hold += hold_near("flow", "T", "in0");
  if (held && max) hold += hold_near("chosen", "$P", "in1");
  std::string take(kTakeAverage);
  if (max) {
    take = cuda_text(
        kTakeMax,
        {{"places", held ? "chosen[k]" : "read<$V>(in1 + from(i, j))"}});
  }
  return cuda_text(
      kBack,
      {{"hold", hold},
       {"windows", held ? std::string(kHeldWindows)
                        : cuda_text(kWindowsThere, {{"ahead", kReadAhead}})},
       {"dy", held ? "flow[k]" : "read<$V>(in0 + from(i, j))"},
       {"take", take}});
}

Result<cuda::OpCode> code(const KernelQuery& query,
                          const CudaSettings& settings) {
  const graph::TensorType& in = query.inputs[0];
  const graph::TensorType& out = query.outputs[0];
  const bool back = query.op->name.ends_with("_grad");
  const bool max = query.op->name.starts_with("max");
  std::string name = std::string(query.op->name) + ":cuda";
  const std::int64_t elements = out.shape.elements();
  if (elements == 0) return cuda_op(query, std::move(name), "", 1);
  if (auto made = library_pooling(query, settings)) return *std::move(made);
  const PoolShape shape = back ? pool_shape(out.shape, in.shape, *query.attrs)
                               : pool_shape(in.shape, out.shape, *query.attrs);
  const std::int64_t width = cuda_width(size_of(in.dtype), shape.channels);
  const std::int64_t window_bytes =
      width *
      (size_of(in.dtype) + (max ? size_of(place_dtype(*query.attrs)) : 0));
  const Tile tile = tile_of(shape);
  const auto tiles = [&](const PoolAxis& axis, std::int64_t side) {
    return back ? (axis.before + axis.from - 1) / side + 1 : axis.to;
  };
  const std::int64_t tiles_h = tiles(shape.rows, tile.rows);
  const std::int64_t tiles_w = tiles(shape.columns, tile.columns);
  const std::int64_t threads =
      shape.batch * tiles_h * tiles_w * (shape.channels / width);
  const std::string text =
      back ? back_text(shape, max, window_bytes) : forward_text(shape, max);
  return cuda_op(
      query, std::move(name),
      cuda_text(cuda_text(kTiles, {{"tile", text}}),
                {{"T", cuda_type(in.dtype)},
                 {"C", cuda_type(wide_dtype(in.dtype))},
                 {"I", cuda_index(
                           std::max({elements, in.shape.elements(), threads}))},
                 {"P", cuda_type(place_dtype(*query.attrs))},
                 {"N", threads},
                 {"V", width},
                 {"depth", shape.channels / width},
                 {"channels", shape.channels},
                 {"row", shape.channels * in.shape.extent(2)},
                 {"from_h", in.shape.extent(1)},
                 {"from_w", in.shape.extent(2)},
                 {"to_h", out.shape.extent(1)},
                 {"to_w", out.shape.extent(2)},
                 {"tiles_h", tiles_h},
                 {"tiles_w", tiles_w},
                 {"tile_h", tile.rows},
                 {"tile_w", tile.columns},
                 {"near_h", windows_near(shape.rows)},
                 {"near_w", windows_near(shape.columns)},
                 {"window_h", shape.rows.window},
                 {"window_w", shape.columns.window},
                 {"stride_h", shape.rows.stride},
                 {"stride_w", shape.columns.stride},
                 {"top", shape.rows.before},
                 {"left", shape.columns.before}}),
      cuda_blocks_of_threads(threads));
}

}  // namespace

std::span<const CudaKernels> pooling_cuda_kernels() {
  static constexpr std::array<CudaKernels, 4> kernels = {{
      {"max_pool2d", code},
      {"max_pool2d_grad", code},
      {"avg_pool2d", code},
      {"avg_pool2d_grad", code},
  }};
  return kernels;
}

}  // namespace plimsoll::ops
