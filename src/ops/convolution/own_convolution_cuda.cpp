#include "ops/convolution/own_convolution_cuda.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "ops/cuda_text.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// Results of a thread, side by side in a row: each weight is read once for all
// of them.
constexpr std::int64_t kStrip = 4;
constexpr std::int64_t kEnoughThreads = std::int64_t{264} * 512;
constexpr std::int64_t kLeastRows = 4;  // of y, in a part of a sum
constexpr std::int64_t kMostScratch = 16 * kMiB;

// Of threads that follow each other, each has the next filter.
constexpr std::string_view kForward = R"(
  for (I i = (I)block * 512 + threadIdx.x; i < threads;
       i += (I)blocks * 512) {
    const u32 o = i % O;
    const I strip = i / O;
    const u32 first = strip % strips * S;
    const u32 oh = strip / strips % OH;
    const I b = strip / ((I)strips * OH);
    const T* w = in1 + (I)o * (taps * Cg);
    C sums[S];
#pragma unroll
    for (int s = 0; s < S; ++s) sums[s] = 0;
#pragma unroll 1
    for (int kh = 0; kh < KH; ++kh) {
      const int h = (int)(oh * sh) + kh * dh - pad_top;
      if (h < 0 || h >= H) continue;
      const T* x = in0 + (b * H + h) * ((I)W * Ch) + o / Og * Cg;
#pragma unroll 1
      for (int kw = 0; kw < KW; ++kw) {
        const int left = (int)(first * sw) + kw * dw - pad_left;
#pragma unroll 1
        for (u32 c = 0; c < Cg; c += V) {
          const Vec<T, V> weights = read<V>(w + (kh * KW + kw) * Cg + c);
#pragma unroll
          for (int s = 0; s < S; ++s) {
            const int at = left + s * sw;
            if (at < 0 || at >= W) continue;
            const Vec<T, V> values = read<V>(x + (I)at * Ch + c);
#pragma unroll
            for (int v = 0; v < V; ++v) {
              sums[s] = mul_add((C)load(values.v[v]), (C)load(weights.v[v]),
                                sums[s]);
            }
          }
        }
      }
    }
#pragma unroll
    for (int s = 0; s < S; ++s) {
      if (first + s >= OW) continue;
      C sum = sums[s];
$finish      out0[(((b * OH + oh) * OW) + first + s) * (I)O + o] =
          store<T>(sum);
    }
  }
)";

// Here each has the next channel.
constexpr std::string_view kDataGrad = R"(
  for (I i = (I)block * 512 + threadIdx.x; i < threads;
       i += (I)blocks * 512) {
    const u32 c = i % Ch;
    const I strip = i / Ch;
    const u32 first = strip % strips * S;
    const u32 h = strip / strips % H;
    const I b = strip / ((I)strips * H);
    const u32 g = c / Cg;
    C sums[S];
#pragma unroll
    for (int s = 0; s < S; ++s) sums[s] = 0;
#pragma unroll 1
    for (int kh = 0; kh < KH; ++kh) {
      const int up = (int)h + pad_top - kh * dh;
      if (up < 0 || up % sh != 0 || up / sh >= OH) continue;
      const T* dy = in0 + (b * OH + up / sh) * ((I)OW * O) + g * Og;
#pragma unroll 1
      for (int kw = 0; kw < KW; ++kw) {
        const T* w = in1 + ((I)(g * Og) * taps + kh * KW + kw) * Cg +
                     c % Cg;
#pragma unroll 1
        for (u32 o = 0; o < Og; o += V) {
          C weights[V];
#pragma unroll
          for (int v = 0; v < V; ++v) {
            weights[v] = load(w[(I)(o + v) * (taps * Cg)]);
          }
#pragma unroll
          for (int s = 0; s < S; ++s) {
            const int left = (int)first + s + pad_left - kw * dw;
            if (left < 0 || left % sw != 0 || left / sw >= OW) continue;
            const Vec<T, V> values = read<V>(dy + (I)(left / sw) * O + o);
#pragma unroll
            for (int v = 0; v < V; ++v) {
              sums[s] = mul_add((C)load(values.v[v]), weights[v], sums[s]);
            }
          }
        }
      }
    }
#pragma unroll
    for (int s = 0; s < S; ++s) {
      if (first + s >= W) continue;
      out0[((b * H + h) * W + first + s) * (I)Ch + c] = store<T>(sums[s]);
    }
  }
)";

// A channel's results are its own: a thread has some channels side by side.
// `flow` is x forward and dy back.
constexpr std::string_view kDepthwise = R"(
  for (I i = (I)block * 512 + threadIdx.x; i < threads;
       i += (I)blocks * 512) {
    const u32 c = i % (Ch / V) * V;
    const I strip = i / (Ch / V);
    const u32 first = strip % strips * S;
    const u32 row = strip / strips % rows;
    const I b = strip / ((I)strips * rows);
    C sums[S * V];
#pragma unroll
    for (int s = 0; s < S * V; ++s) sums[s] = 0;
#pragma unroll 1
    for (int kh = 0; kh < KH; ++kh) {
$of_row
      const T* flow = in0 + (b * flow_rows + from) *
                            ((I)flow_columns * Ch) + c;
#pragma unroll 1
      for (int kw = 0; kw < KW; ++kw) {
        C weights[V];
#pragma unroll
        for (int v = 0; v < V; ++v) {
          weights[v] = load(in1[(c + v) * taps + kh * KW + kw]);
        }
#pragma unroll
        for (int s = 0; s < S; ++s) {
$of_column
          const Vec<T, V> values = read<V>(flow + (I)at * Ch);
#pragma unroll
          for (int v = 0; v < V; ++v) {
            sums[s * V + v] =
                mul_add((C)load(values.v[v]), weights[v], sums[s * V + v]);
          }
        }
      }
    }
#pragma unroll
    for (int s = 0; s < S; ++s) {
      if (first + s >= columns) continue;
      Vec<T, V> results;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const u32 o = c + v;
        C sum = sums[s * V + v];
$finish        results.v[v] = store<T>(sum);
      }
      write<V>(out0 + ((b * rows + row) * columns + first + s) * (I)Ch + c,
                results);
    }
  }
)";

constexpr std::string_view kForwardRow =
    R"(      const int from = (int)(row * sh) + kh * dh - pad_top;
      if (from < 0 || from >= H) continue;)";
constexpr std::string_view kForwardColumn =
    R"(          const int at = (int)((first + s) * sw) + kw * dw - pad_left;
          if (at < 0 || at >= W) continue;)";
constexpr std::string_view kBackRow =
    R"(      const int up = (int)row + pad_top - kh * dh;
      if (up < 0 || up % sh != 0 || up / sh >= OH) continue;
      const int from = up / sh;)";
constexpr std::string_view kBackColumn =
    R"(          const int left = (int)(first + s) + pad_left - kw * dw;
          if (left < 0 || left % sw != 0 || left / sw >= OW) continue;
          const int at = left / sw;)";

// Sums over parts of y's rows, each row's by itself: no chain is long. A
// thread has V filters of one channel, or V channels of depthwise ones.
constexpr std::string_view kWeightGrad = R"(
  for (I i = (I)block * 512 + threadIdx.x; i < (I)tasks * parts;
       i += (I)blocks * 512) {
    const u32 task = i % tasks;
    const I part = i / tasks;
$of_task
    const I end = (part + 1) * part_rows < all_rows ? (part + 1) * part_rows : all_rows;
    C sums[V];
#pragma unroll
    for (int v = 0; v < V; ++v) sums[v] = 0;
    for (I r = part * part_rows; r < end; ++r) {
      const int h = (int)(r % OH * sh) + (int)(tap / KW) * dh - pad_top;
      if (h < 0 || h >= H) continue;
      const T* x = in1 + (r / OH * H + h) * ((I)W * Ch) + c;
      const T* dy = in0 + r * ((I)OW * O) + o;
      const int left = (int)(tap % KW) * dw - pad_left;
      C some[V];
#pragma unroll
      for (int v = 0; v < V; ++v) some[v] = 0;
#pragma unroll 4
      for (int column = 0; column < OW; ++column) {
        const int at = left + column * sw;
        if (at < 0 || at >= W) continue;
        const Vec<T, V> flow = read<V>(dy + (I)column * O);
        const Vec<T, X> values = read<X>(x + (I)at * Ch);
#pragma unroll
        for (int v = 0; v < V; ++v) {
          some[v] = mul_add((C)load(flow.v[v]), (C)load(values.v[v % X]),
                            some[v]);
        }
      }
#pragma unroll
      for (int v = 0; v < V; ++v) sums[v] = add(sums[v], some[v]);
    }
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const u32 to = ((o + v) * taps + tap) * Cg + c % Cg;
      $write
    }
  }
)";
constexpr std::string_view kDenseTask =
    R"(    const u32 o = task / (taps * Cg) * V;
    const u32 tap = task / Cg % taps;
    const u32 c = o / Og * Cg + task % Cg;)";
constexpr std::string_view kDepthwiseTask =
    R"(    const u32 o = task % (Ch / V) * V;
    const u32 tap = task / (Ch / V);
    const u32 c = o;)";

constexpr std::string_view kJoin = R"(
  for (I i = (I)block * 512 + threadIdx.x; i < results;
       i += (I)blocks * 512) {
    const C* from = (const C*)scratch + i;
    C sum = from[0];
    for (I p = 1; p < parts; ++p) sum = add(sum, from[p * results]);
    out0[i] = store<R>(sum);
  }
)";

class OwnConvolution {
 public:
  OwnConvolution(const KernelQuery& query, ConvPass pass,
                 const ConvShape& shape)
      : query_(query),
        pass_(pass),
        shape_(shape),
        dtype_(query.inputs[0].dtype) {}

  cuda::OpCode code() const {
    if (query_.outputs[0].shape.elements() == 0) {
      return cuda_op(query_, name(""), "", 1);
    }
    return pass_ == ConvPass::weight_grad ? weights() : images();
  }

 private:
  std::string name(std::string_view more) const {
    return fmt::format("{}:cuda{}", query_.op->name, more);
  }

  // Names of the numbers that texts share.
  std::string numbers() const {
    std::int64_t most = query_.outputs[0].shape.elements();
    for (const graph::TensorType& type : query_.inputs) {
      most = std::max(most, type.shape.elements());
    }
    const Conv2dSettings& settings = shape_.settings;
    return fmt::format(
        "  typedef {} T;\n  typedef {} C;\n  typedef {} R;\n"
        "  typedef {} I;\n"
        "  enum {{ Ch = {}, Cg = {}, O = {}, Og = {}, H = {}, W = {}, OH = "
        "{},\n"
        "         OW = {}, KH = {}, KW = {}, taps = KH * KW, sh = {}, sw = "
        "{},\n"
        "         dh = {}, dw = {}, pad_top = {}, pad_left = {} }};\n",
        cuda_type(dtype_), cuda_type(wide_dtype(dtype_)),
        cuda_type(query_.outputs[0].dtype), cuda_index(most), shape_.channels,
        shape_.channels_per_group(), shape_.filters, shape_.filters_per_group(),
        shape_.in[0], shape_.in[1], shape_.out[0], shape_.out[1],
        shape_.kernel[0], shape_.kernel[1], settings.strides[0],
        settings.strides[1], settings.dilations[0], settings.dilations[1],
        settings.padding[0], settings.padding[2]);
  }

  cuda::OpCode images() const {
    const bool forward = pass_ == ConvPass::forward;
    const bool depthwise = shape_.is_depthwise();
    const auto& to = forward ? shape_.out : shape_.in;
    const auto& from = forward ? shape_.in : shape_.out;
    const std::int64_t strips = (to[1] + kStrip - 1) / kStrip;
    const std::int64_t run = depthwise ? shape_.channels
                             : forward ? shape_.channels_per_group()
                                       : shape_.filters_per_group();
    const std::int64_t width = cuda_width(size_of(dtype_), run);
    const std::int64_t in_a_strip = depthwise ? shape_.channels / width
                                    : forward ? shape_.filters
                                              : shape_.channels;
    const std::int64_t threads = shape_.batch * to[0] * strips * in_a_strip;
    const std::string more = fmt::format(
        "  enum {{ S = {}, V = {}, strips = {}, rows = {}, columns = {},\n"
        "         flow_rows = {}, flow_columns = {} }};\n"
        "  const I threads = {};\n",
        kStrip, width, strips, to[0], to[1], from[0], from[1], threads);
    const std::string text =
        cuda_text(depthwise ? kDepthwise
                  : forward ? kForward
                            : kDataGrad,
                  {{"of_row", forward ? kForwardRow : kBackRow},
                   {"of_column", forward ? kForwardColumn : kBackColumn},
                   {"finish", forward ? finish_text(shape_) : ""}});
    return cuda_op(query_, name(depthwise ? ":depthwise" : ""),
                   numbers() + more + text, cuda_blocks_of_threads(threads));
  }

  // Of filters, or of channels that are filters too.
  std::int64_t weights_side_by_side() const {
    const std::int64_t run =
        shape_.is_depthwise() ? shape_.channels : shape_.filters_per_group();
    return std::min<std::int64_t>(4, cuda_width(size_of(dtype_), run));
  }

  cuda::OpCode weights() const {
    const bool depthwise = shape_.is_depthwise();
    const std::int64_t results = query_.outputs[0].shape.elements();
    const std::int64_t width = weights_side_by_side();
    const std::int64_t tasks = results / width;
    const std::int64_t sum_bytes = size_of(wide_dtype(dtype_));
    // By the shape alone: parts decide how sums are rounded.
    const std::int64_t all = shape_.batch * shape_.out[0];
    const std::int64_t most = std::min(
        (kEnoughThreads + tasks - 1) / tasks,
        std::min(all / kLeastRows, kMostScratch / (sum_bytes * results)));
    const std::int64_t cuts = std::max<std::int64_t>(most, 1);
    const std::int64_t part =
        std::max<std::int64_t>((all + cuts - 1) / cuts, 1);
    const std::int64_t parts =
        std::max<std::int64_t>((all + part - 1) / part, 1);
    const std::string more = fmt::format(
        "  enum {{ V = {}, X = {}, tasks = {} }};\n"
        "  const I parts = {}, part_rows = {}, all_rows = {}, results = {};\n",
        width, depthwise ? width : 1, tasks, parts, part, all, results);
    const std::string text = cuda_text(
        kWeightGrad,
        {{"of_task", depthwise ? kDepthwiseTask : kDenseTask},
         {"write", parts > 1 ? "((C*)scratch)[part * results + to] = sums[v];"
                             : "out0[to] = store<R>(sums[v]);"}});
    cuda::OpCode code = cuda_op(
        query_,
        name(fmt::format("{}:parts={}", depthwise ? ":depthwise" : "", parts)),
        numbers() + more + text, cuda_blocks_of_threads(tasks * parts));
    if (parts == 1) return code;
    code.scratch_bytes = round_up(parts * results * sum_bytes, 256);
    const auto sums = static_cast<double>(parts * results);
    code.stages.emplace_back(
        cuda_function(query_, numbers() + more + std::string(kJoin),
                      cuda_blocks_of_threads(results),
                      {sums, sums * static_cast<double>(sum_bytes)}));
    return code;
  }

  const KernelQuery& query_;
  const ConvPass pass_;
  const ConvShape& shape_;
  const DType dtype_;
};

}  // namespace

std::string finish_text(const ConvShape& shape) {
  std::string text;
  if (shape.bias) text += "      sum = add(sum, (C)load(in2[o]));\n";
  if (shape.relu) text += "      sum = e_relu(sum);\n";
  return text;
}

cuda::OpCode own_convolution(const KernelQuery& query, ConvPass pass,
                             const ConvShape& shape) {
  return OwnConvolution(query, pass, shape).code();
}

}  // namespace plimsoll::ops
