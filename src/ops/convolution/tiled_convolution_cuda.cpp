#include "ops/convolution/tiled_convolution_cuda.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "ops/convolution/own_convolution_cuda.h"
#include "ops/cuda_text.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// A tile is 128 pixels by 64 channels, made from 16 channels of the operands
// at a time; a thread has 4 by 4 of it.
constexpr std::int64_t kPixels = 128;
constexpr std::int64_t kChannels = 64;
constexpr std::int64_t kLeastChannels = 16;
constexpr double kLeastProducts = 1 << 20;

// `a` are a pixel's channels under one tap of the kernel, `b` the weights. The
// pixels of a tile have the same phase of the strides, so that a tap is for
// all of them or for none.
constexpr std::string_view kTiles = R"(
  C* as = (C*)shared_room();
  C* bs = as + 16 * 132;
  const u32 t = threadIdx.x;
  for (I tile = block; tile < tiles; tile += blocks) {
    const u32 n0 = tile % n_tiles * 64;
    const u32 phase = tile / n_tiles / m_tiles;
    const I m0 = tile / n_tiles % m_tiles * 128;
    const int phase_row = phase / phase_columns;
    const int phase_column = phase % phase_columns;
    const auto row_of = [&](I m) {
      return (int)(m / columns % rows) * phase_rows + phase_row;
    };
    const auto column_of = [&](I m) {
      return (int)(m % columns) * phase_columns + phase_column;
    };
    const auto there = [&](I m) {
      return m < pixels && row_of(m) < to_rows && column_of(m) < to_columns;
    };
    const I mine = m0 + t / 4;
    const bool valid = there(mine);
    const I image = mine / ((I)rows * columns);
    C sums[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) sums[i] = 0;
#pragma unroll 1
    for (int tap = 0; tap < taps; ++tap) {
      const int kh = tap / KW;
      const int kw = tap % KW;
$of_tap
      const T* a = in0 + ((image * from_rows + row) * from_columns + column) *
                         (I)K;
#pragma unroll 1
      for (int k0 = 0; k0 < K; k0 += 16) {
        C a_next[4];
        C b_next[2];
        int bs_at[2];
        const int k = k0 + t % 4 * 4;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          a_next[j] = inside && k + j < K ? (C)load(a[k + j]) : (C)0;
        }
#pragma unroll
        for (int j = 0; j < 2; ++j) {
$of_weight
          b_next[j] = bk < K && n0 + bn < N ? (C)load(in1[at]) : (C)0;
          bs_at[j] = (bk - k0) * 68 + bn;
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          as[(t % 4 * 4 + j) * 132 + t / 4] = a_next[j];
        }
#pragma unroll
        for (int j = 0; j < 2; ++j) bs[bs_at[j]] = b_next[j];
        __syncthreads();
#pragma unroll 8
        for (int p = 0; p < 16; ++p) {
          const Vec<C, 4> left = read<4>(as + p * 132 + t / 16 * 4);
          const Vec<C, 4> right = read<4>(bs + p * 68 + t % 16 * 4);
#pragma unroll
          for (int i = 0; i < 16; ++i) {
            sums[i] = mul_add(left.v[i / 4], right.v[i % 4], sums[i]);
          }
        }
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const I m = m0 + t / 16 * 4 + i / 4;
      const u32 o = n0 + t % 16 * 4 + i % 4;
      if (!there(m) || o >= N) continue;
      C sum = sums[i];
$finish      out0[((m / ((I)rows * columns) * to_rows + row_of(m)) * to_columns +
            column_of(m)) * (I)N + o] = store<T>(sum);
    }
  }
)";

constexpr std::string_view kForwardTap =
    R"(      const int row = row_of(mine) * sh + kh * dh - pad_top;
      const int column = column_of(mine) * sw + kw * dw - pad_left;
      const bool inside = valid && row >= 0 && row < from_rows &&
                          column >= 0 && column < from_columns;)";
constexpr std::string_view kBackTap =
    R"(      if ((phase_row + pad_top - kh * dh) % sh != 0 ||
          (phase_column + pad_left - kw * dw) % sw != 0) continue;
      const int up = row_of(mine) + pad_top - kh * dh;
      const int left_of = column_of(mine) + pad_left - kw * dw;
      const int row = up / sh;
      const int column = left_of / sw;
      const bool inside = valid && up >= 0 && row < from_rows &&
                          left_of >= 0 && column < from_columns;)";

// Weights lie as [filter, tap, channel]: what is summed over comes last of
// these forward, and first back.
constexpr std::string_view kForwardWeight =
    R"(          const int bk = k0 + (int)(t % 8 * 2) + j;
          const int bn = t / 8;
          const I at = ((I)(n0 + bn) * taps + tap) * K + bk;)";
constexpr std::string_view kBackWeight =
    R"(          const int bk = k0 + (int)(t / 32);
          const int bn = t % 32 + j * 32;
          const I at = ((I)bk * taps + tap) * N + n0 + bn;)";

}  // namespace

bool suits_tiles(ConvPass pass, const ConvShape& shape, DType dtype) {
  return pass != ConvPass::weight_grad &&
         (dtype == DType::f32 || dtype == DType::f64) &&
         shape.settings.groups == 1 && shape.flops() / 2 > kLeastProducts &&
         shape.channels >= kLeastChannels && shape.filters >= kLeastChannels;
}

cuda::OpCode tiled_convolution(const KernelQuery& query, ConvPass pass,
                               const ConvShape& shape) {
  const bool forward = pass == ConvPass::forward;
  const Conv2dSettings& settings = shape.settings;
  const auto& to = forward ? shape.out : shape.in;
  const auto& from = forward ? shape.in : shape.out;
  const std::array<std::int64_t, 2> phases =
      forward ? std::array<std::int64_t, 2>{1, 1} : settings.strides;
  const std::int64_t rows = (to[0] + phases[0] - 1) / phases[0];
  const std::int64_t columns = (to[1] + phases[1] - 1) / phases[1];
  const std::int64_t pixels = shape.batch * rows * columns;
  const std::int64_t n = forward ? shape.filters : shape.channels;
  const std::int64_t k = forward ? shape.channels : shape.filters;
  const std::int64_t m_tiles = (pixels + kPixels - 1) / kPixels;
  const std::int64_t n_tiles = (n + kChannels - 1) / kChannels;
  const std::int64_t tiles = phases[0] * phases[1] * m_tiles * n_tiles;
  std::int64_t most = query.outputs[0].shape.elements();
  for (const graph::TensorType& type : query.inputs) {
    most = std::max(most, type.shape.elements());
  }
  const DType dtype = query.inputs[0].dtype;
  const std::string numbers = fmt::format(
      "  typedef {} T;\n  typedef {} C;\n  typedef {} I;\n"
      "  enum {{ K = {}, N = {}, KW = {}, taps = {}, sh = {}, sw = {},\n"
      "         dh = {}, dw = {}, pad_top = {}, pad_left = {}, rows = {},\n"
      "         columns = {}, to_rows = {}, to_columns = {}, from_rows = {},\n"
      "         from_columns = {}, phase_rows = {}, phase_columns = {},\n"
      "         n_tiles = {} }};\n"
      "  const I pixels = {}, m_tiles = {}, tiles = {};\n",
      cuda_type(dtype), cuda_type(wide_dtype(dtype)), cuda_index(most), k, n,
      shape.kernel[1], shape.kernel[0] * shape.kernel[1], settings.strides[0],
      settings.strides[1], settings.dilations[0], settings.dilations[1],
      settings.padding[0], settings.padding[2], rows, columns, to[0], to[1],
      from[0], from[1], phases[0], phases[1], n_tiles, pixels, m_tiles, tiles);
  const std::string text =
      cuda_text(kTiles, {{"of_tap", forward ? kForwardTap : kBackTap},
                         {"of_weight", forward ? kForwardWeight : kBackWeight},
                         {"finish", forward ? finish_text(shape) : ""}});
  return cuda_op(query, fmt::format("{}:cuda:tiles", query.op->name),
                 numbers + text, cuda_blocks(tiles));
}

}  // namespace plimsoll::ops
