#include "ops/resize/resize_cuda.h"

#include <algorithm>
#include <array>

#include "ops/cuda_text.h"
#include "ops/resize/resize_shape.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// resize_taps.h in the same whole numbers.
constexpr std::string_view kTaps = R"(  typedef $T T;
  typedef $C C;
  typedef $I I;
  typedef $J J;
  const auto floor_div = [](J a, J b) -> J {
    return a >= 0 ? a / b : -((b - 1 - a) / b);
  };
  // The weight of the second pixel.
  const auto tap = [&](J i, J from, J to, J& low, J& high) -> C {
    const J centre = (2 * i + 1) * from - $shared * to;
    const J at = floor_div(centre, 2 * to);
    low = at > 0 ? at : 0;
    high = $shared == 0 ? at : at + 1 < from ? at + 1 : from - 1;
    if ($shared == 0) return 0;
    return div((C)(centre - at * (2 * to)), (C)(2 * to));
  };
)";

constexpr std::string_view kForward =
    R"(  for (I e = (I)block * 512 + threadIdx.x; e < $N; e += (I)blocks * 512) {
    const I c = e % $depth * $V;
    const J x = (J)(e / $depth % $to_w);
    const J y = (J)(e / ((I)$depth * $to_w) % $to_h);
    const T* image =
        in0 + e / ((I)$depth * $to_w * $to_h) * ((I)$from_h * $row) + c;
    J top, bottom, left, right;
    const C down = tap(y, $from_h, $to_h, top, bottom);
    const C across = tap(x, $from_w, $to_w, left, right);
    const Vec<T, $V> a = read<$V>(image + ((I)top * $row + left * $channels));
    Vec<T, $V> result = a;
    if ($shared == 1) {
      const Vec<T, $V> b =
          read<$V>(image + ((I)top * $row + right * $channels));
      const Vec<T, $V> d =
          read<$V>(image + ((I)bottom * $row + left * $channels));
      const Vec<T, $V> f =
          read<$V>(image + ((I)bottom * $row + right * $channels));
#pragma unroll
      for (int v = 0; v < $V; ++v) {
        const C p = load(a.v[v]), q = load(b.v[v]);
        const C r = load(d.v[v]), s = load(f.v[v]);
        const C above = add(p, mul(sub(q, p), across));
        const C below = add(r, mul(sub(s, r), across));
        result.v[v] = store<T>(add(above, mul(sub(below, above), down)));
      }
    }
    write<$V>(out0 + e * $V, result);
  }
)";

// A thread sums what reaches its pixel: nobody else writes there.
constexpr std::string_view kBackward = R"(
  const auto first = [&](J bound, J from, J to) -> J {
    const J i = -floor_div(-(bound + $shared * to - from), 2 * from);
    return i < 0 ? 0 : i > to ? to : i;
  };
  const auto begin_of = [&](J h, J from, J to) -> J {
    if (h == 0) return 0;
    return first($shared == 0 ? 2 * to * h : 2 * to * (h - 1) + 1, from, to);
  };
  const auto end_of = [&](J h, J from, J to) -> J {
    return h + 1 < from ? first(2 * to * (h + 1), from, to) : to;
  };
  const auto weight_of = [&](J i, J h, J from, J to) -> C {
    J low, high;
    const C part = tap(i, from, to, low, high);
    return add(low == h ? sub((C)1, part) : (C)0, high == h ? part : (C)0);
  };
  for (I e = (I)block * 512 + threadIdx.x; e < $N; e += (I)blocks * 512) {
    const I c = e % $depth * $V;
    const J w = (J)(e / $depth % $from_w);
    const J h = (J)(e / ((I)$depth * $from_w) % $from_h);
    const T* dy =
        in0 + e / ((I)$depth * $from_w * $from_h) * ((I)$to_h * $row) + c;
    const J left = begin_of(w, $from_w, $to_w);
    const J right = end_of(w, $from_w, $to_w);
    const J bottom = end_of(h, $from_h, $to_h);
    C sum[$V];
#pragma unroll
    for (int v = 0; v < $V; ++v) sum[v] = 0;
    for (J i = begin_of(h, $from_h, $to_h); i < bottom; ++i) {
      const C down = weight_of(i, h, $from_h, $to_h);
      for (J j = left; j < right; ++j) {
        const C weight = mul(down, weight_of(j, w, $from_w, $to_w));
        const Vec<T, $V> x = read<$V>(dy + ((I)i * $row + j * $channels));
#pragma unroll
        for (int v = 0; v < $V; ++v) {
          sum[v] = add(sum[v], mul(weight, (C)load(x.v[v])));
        }
      }
    }
    Vec<T, $V> dx;
#pragma unroll
    for (int v = 0; v < $V; ++v) dx.v[v] = store<T>(sum[v]);
    write<$V>(out0 + e * $V, dx);
  }
)";

template <bool gradient>
Result<cuda::OpCode> code(const KernelQuery& query, const CudaSettings&) {
  const graph::TensorType& in = query.inputs[0];
  const graph::TensorType& out = query.outputs[0];
  if (!is_floating(in.dtype)) return cuda::OpCode();
  std::string name = std::string(query.op->name) + ":cuda";
  const std::int64_t elements = out.shape.elements();
  if (elements == 0) return cuda_op(query, std::move(name), "", 1);
  const ResizeShape shape =
      gradient ? resize_shape(out.shape, in.shape, *query.attrs)
               : resize_shape(in.shape, out.shape, *query.attrs);
  // The largest of the numbers that places are worked out in.
  const double largest =
      4.0 *
      std::max(double(shape.rows.from + 1) * double(shape.rows.to + 1),
               double(shape.columns.from + 1) * double(shape.columns.to + 1));
  const std::int64_t width = cuda_width(size_of(in.dtype), shape.channels);
  const std::string text =
      std::string(kTaps) + std::string(gradient ? kBackward : kForward);
  return cuda_op(
      query, std::move(name),
      cuda_text(text,
                {{"T", cuda_type(in.dtype)},
                 {"C", cuda_type(wide_dtype(in.dtype))},
                 {"I", cuda_index(std::max(elements, in.shape.elements()))},
                 {"J", largest < 0x1p31 ? "i32" : "i64"},
                 {"shared", shape.rows.nearest ? 0 : 1},
                 {"N", elements / width},
                 {"V", width},
                 {"depth", shape.channels / width},
                 {"channels", shape.channels},
                 {"row", shape.channels * (gradient ? shape.columns.to
                                                    : shape.columns.from)},
                 {"from_h", shape.rows.from},
                 {"to_h", shape.rows.to},
                 {"from_w", shape.columns.from},
                 {"to_w", shape.columns.to}}),
      cuda_blocks_of_threads(elements / width));
}

}  // namespace

std::span<const CudaKernels> resize_cuda_kernels() {
  static constexpr std::array<CudaKernels, 2> kernels = {{
      {"resize", code<false>},
      {"resize_grad", code<true>},
  }};
  return kernels;
}

}  // namespace plimsoll::ops
