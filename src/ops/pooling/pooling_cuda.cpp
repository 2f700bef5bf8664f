#include "ops/pooling/pooling_cuda.h"

#include <algorithm>
#include <array>
#include <string>

#include "ops/cuda_text.h"
#include "ops/pooling/pool_shape.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// A thread makes a few channels of one pixel of the output, $to_h x $to_w of
// which follow from $from_h x $from_w of the input.
constexpr std::string_view kPixels = R"(  typedef $T T;
  typedef $C C;
  typedef $I I;
  for (I e = (I)block * 512 + threadIdx.x; e < $N; e += (I)blocks * 512) {
    const I c = e % $depth * $V;
    const i32 x = (i32)(e / $depth % $to_w);
    const i32 y = (i32)(e / ((I)$depth * $to_w) % $to_h);
    const I image =
        e / ((I)$depth * $to_w * $to_h) * ((I)$from_h * $row) + c;
$pixel  }
)";

// What a window covers of the images.
constexpr std::string_view kCovered =
    R"(    const i32 up = y * $stride_h - $top, left = x * $stride_w - $left;
    const i32 low = up > 0 ? up : 0, first = left > 0 ? left : 0;
    const i32 high = up + $window_h < $from_h ? up + $window_h : $from_h;
    const i32 last = left + $window_w < $from_w ? left + $window_w : $from_w;
)";

// The first NaN stays.
constexpr std::string_view kMax = R"(    C best[$V];
    i32 at[$V];
    const Vec<T, $V> start =
        read<$V>(in0 + image + ((I)low * $row + (I)first * $channels));
#pragma unroll
    for (int v = 0; v < $V; ++v) {
      best[v] = load(start.v[v]);
      at[v] = (low - up) * $window_w + (first - left);
    }
    for (i32 h = low; h < high; ++h) {
      for (i32 w = first; w < last; ++w) {
        const Vec<T, $V> some =
            read<$V>(in0 + image + ((I)h * $row + (I)w * $channels));
#pragma unroll
        for (int v = 0; v < $V; ++v) {
          const C next = load(some.v[v]);
          if ((next > best[v] || next != next) && best[v] == best[v]) {
            best[v] = next;
            at[v] = (h - up) * $window_w + (w - left);
          }
        }
      }
    }
    Vec<T, $V> result;
    Vec<$P, $V> places;
#pragma unroll
    for (int v = 0; v < $V; ++v) {
      result.v[v] = store<T>(best[v]);
      places.v[v] = ($P)at[v];
    }
    write<$V>(out0 + e * $V, result);
    write<$V>(out1 + e * $V, places);
)";

constexpr std::string_view kAverage = R"(    C sum[$V];
#pragma unroll
    for (int v = 0; v < $V; ++v) sum[v] = 0;
    for (i32 h = low; h < high; ++h) {
      for (i32 w = first; w < last; ++w) {
        const Vec<T, $V> some =
            read<$V>(in0 + image + ((I)h * $row + (I)w * $channels));
#pragma unroll
        for (int v = 0; v < $V; ++v) sum[v] = add(sum[v], (C)load(some.v[v]));
      }
    }
    const C count = (C)((high - low) * (last - first));
    Vec<T, $V> result;
#pragma unroll
    for (int v = 0; v < $V; ++v) result.v[v] = store<T>(div(sum[v], count));
    write<$V>(out0 + e * $V, result);
)";

// The windows that cover a pixel of the images: a thread sums what flows back
// to its pixel, and nobody else writes there.
constexpr std::string_view kCovering =
    R"(    const i32 down = y + $top, across = x + $left;
    const i32 early_h = down - ($window_h - 1);
    const i32 early_w = across - ($window_w - 1);
    const i32 low = early_h > 0 ? (early_h + ($stride_h - 1)) / $stride_h : 0;
    const i32 first = early_w > 0 ? (early_w + ($stride_w - 1)) / $stride_w : 0;
    const i32 end_h = down / $stride_h + 1, end_w = across / $stride_w + 1;
    const i32 high = end_h < $from_h ? end_h : $from_h;
    const i32 last = end_w < $from_w ? end_w : $from_w;
    C sum[$V];
#pragma unroll
    for (int v = 0; v < $V; ++v) sum[v] = 0;
    for (i32 i = low; i < high; ++i) {
      for (i32 j = first; j < last; ++j) {
        const I from = image + ((I)i * $row + (I)j * $channels);
        const Vec<T, $V> dy = read<$V>(in0 + from);
$take      }
    }
    Vec<T, $V> dx;
#pragma unroll
    for (int v = 0; v < $V; ++v) dx.v[v] = store<T>(sum[v]);
    write<$V>(out0 + e * $V, dx);
)";

constexpr std::string_view kTakeMax =
    R"(        const Vec<$P, $V> places = read<$V>(in1 + from);
        const i32 here = (down - i * $stride_h) * $window_w +
                         (across - j * $stride_w);
#pragma unroll
        for (int v = 0; v < $V; ++v) {
          if ((i32)places.v[v] == here) sum[v] = add(sum[v], (C)load(dy.v[v]));
        }
)";

// $to_h x $to_w are the images' pixels here.
constexpr std::string_view kTakeAverage =
    R"(        const i32 up = i * $stride_h - $top, left = j * $stride_w - $left;
        const i32 bottom = up + $window_h < $to_h ? up + $window_h : $to_h;
        const i32 right = left + $window_w < $to_w ? left + $window_w : $to_w;
        const C count = (C)((bottom - (up > 0 ? up : 0)) *
                            (right - (left > 0 ? left : 0)));
#pragma unroll
        for (int v = 0; v < $V; ++v) {
          sum[v] = add(sum[v], div((C)load(dy.v[v]), count));
        }
)";

std::string joined(std::string_view a, std::string_view b) {
  return std::string(a) + std::string(b);
}

std::string pixel_text(std::string_view op) {
  if (op == "max_pool2d") return joined(kCovered, kMax);
  if (op == "avg_pool2d") return joined(kCovered, kAverage);
  std::string text(kCovering);
  const std::string_view gap = "$take";
  return text.replace(text.find(gap), gap.size(),
                      op == "max_pool2d_grad" ? kTakeMax : kTakeAverage);
}

Result<cuda::OpCode> code(const KernelQuery& query, const CudaSettings&) {
  const graph::TensorType& in = query.inputs[0];
  const graph::TensorType& out = query.outputs[0];
  const bool back = query.op->name.ends_with("_grad");
  std::string name = std::string(query.op->name) + ":cuda";
  const std::int64_t elements = out.shape.elements();
  if (elements == 0) return cuda_op(query, std::move(name), "", 1);
  const PoolShape shape = back ? pool_shape(out.shape, in.shape, *query.attrs)
                               : pool_shape(in.shape, out.shape, *query.attrs);
  const std::int64_t width = cuda_width(size_of(in.dtype), shape.channels);
  std::string text(kPixels);
  const std::string_view gap = "$pixel";
  text.replace(text.find(gap), gap.size(), pixel_text(query.op->name));
  return cuda_op(
      query, std::move(name),
      cuda_text(text,
                {{"T", cuda_type(in.dtype)},
                 {"C", cuda_type(wide_dtype(in.dtype))},
                 {"I", cuda_index(std::max(elements, in.shape.elements()))},
                 {"P", cuda_type(place_dtype(*query.attrs))},
                 {"N", elements / width},
                 {"V", width},
                 {"depth", shape.channels / width},
                 {"channels", shape.channels},
                 {"row", shape.channels * in.shape.extent(2)},
                 {"from_h", in.shape.extent(1)},
                 {"from_w", in.shape.extent(2)},
                 {"to_h", out.shape.extent(1)},
                 {"to_w", out.shape.extent(2)},
                 {"window_h", shape.rows.window},
                 {"window_w", shape.columns.window},
                 {"stride_h", shape.rows.stride},
                 {"stride_w", shape.columns.stride},
                 {"top", shape.rows.before},
                 {"left", shape.columns.before}}),
      cuda_blocks_of_threads(elements / width));
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
