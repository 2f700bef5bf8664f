#include "ops/attention/attention_tiles_cuda.h"

#include <fmt/core.h>

#include "ops/cuda_text.h"

namespace plimsoll::ops {
namespace {

// A tile has kTile x kTile scores. Its threads are 16 x 32; each has kR rows,
// 16 apart, by kV columns: 32 apart among scores, neighbours among results.
// Distances between rows in shared memory keep 16-byte reads of eight
// neighbouring rows on different banks. Loops are not unrolled further: with 64
// registers a multiprocessor has two blocks.
constexpr std::string_view kTiles = R"(  typedef $T T;
  typedef $C C;
  typedef $S S;
  const int kTile = $tile;
  const int kR = kTile / 16;
  const int kV = kTile / 32;
  const int kW = 16 / sizeof(C);
  const int kDepth = 32;
  const int kStep = kDepth + kW;
  const int kScoreStep = kTile + kW;
  const int kWidth = $width;
  const int kGroups = (kWidth + kTile - 1) / kTile;
  struct Tile {
    static DEVICE C* room() { return (C*)shared_room(); }
    static DEVICE C* scores() { return room() + 2 * kTile * kStep; }
    static DEVICE C* each() { return scores() + kTile * kScoreStep; }
    static DEVICE int row() {
      return threadIdx.x / 128 * 4 + threadIdx.x % 32 / 8;
    }
    static DEVICE int column() {
      return threadIdx.x / 32 % 4 * 8 + threadIdx.x % 8;
    }
    // Elements [0, columns) of each row; those that are not there are 0.
    static DEVICE void load_rows(C* to, int step, int columns, const T* from,
                                 S stride, int rows, int width) {
#pragma unroll 1
      for (int e = threadIdx.x; e < kTile * (columns / $V); e += 512) {
        const int r = e / (columns / $V);
        const int c = e % (columns / $V) * $V;
        Vec<T, $V> x = {};
        if (r < rows && c < width) x = read<$V>(from + r * stride + c);
        Vec<C, $V> wide;
#pragma unroll
        for (int i = 0; i < $V; ++i) wide.v[i] = load(x.v[i]);
        write<$V>(to + r * step + c, wide);
      }
    }
    // Products of all rows of a with all rows of b.
    static DEVICE void dots(C (&sums)[kR][kV], const T* a, S a_stride,
                            int a_rows, const T* b, S b_stride, int b_rows) {
#pragma unroll
      for (int i = 0; i < kR; ++i) {
#pragma unroll
        for (int j = 0; j < kV; ++j) sums[i][j] = 0;
      }
      C* const left = room();
      C* const right = left + kTile * kStep;
#pragma unroll 1
      for (int d = 0; d < kWidth; d += kDepth) {
        __syncthreads();
        load_rows(left, kStep, kDepth, a + d, a_stride, a_rows, kWidth - d);
        load_rows(right, kStep, kDepth, b + d, b_stride, b_rows, kWidth - d);
        __syncthreads();
#pragma unroll 1
        for (int p = 0; p < kDepth; p += kW) {
          Vec<C, kW> x[kR], y[kV];
#pragma unroll
          for (int i = 0; i < kR; ++i) {
            x[i] = read<kW>(left + (row() + 16 * i) * kStep + p);
          }
#pragma unroll
          for (int j = 0; j < kV; ++j) {
            y[j] = read<kW>(right + (column() + 32 * j) * kStep + p);
          }
#pragma unroll
          for (int q = 0; q < kW; ++q) {
#pragma unroll
            for (int i = 0; i < kR; ++i) {
#pragma unroll
              for (int j = 0; j < kV; ++j) {
                sums[i][j] = mul_add(x[i].v[q], y[j].v[q], sums[i][j]);
              }
            }
          }
        }
      }
    }
    // sums += scores * b, whose rows belong to the columns of the scores.
    static DEVICE void add_rows(C (&sums)[kGroups][kR][kV], const T* b,
                                S stride, int rows) {
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        __syncthreads();
        load_rows(room(), kTile, kTile, b + g * kTile, stride, rows,
                  kWidth - g * kTile);
        __syncthreads();
#pragma unroll 1
        for (int k = 0; k < kTile; k += kW) {
          Vec<C, kW> x[kR];
#pragma unroll
          for (int i = 0; i < kR; ++i) {
            x[i] = read<kW>(scores() + (row() + 16 * i) * kScoreStep + k);
          }
#pragma unroll
          for (int q = 0; q < kW; ++q) {
            const Vec<C, kV> y =
                read<kV>(room() + (k + q) * kTile + column() * kV);
#pragma unroll
            for (int i = 0; i < kR; ++i) {
#pragma unroll
              for (int j = 0; j < kV; ++j) {
                sums[g][i][j] = mul_add(x[i].v[q], y.v[j], sums[g][i][j]);
              }
            }
          }
        }
      }
    }
    static DEVICE void store_scores(const C (&values)[kR][kV]) {
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kR; ++i) {
#pragma unroll
        for (int j = 0; j < kV; ++j) {
          scores()[(row() + 16 * i) * kScoreStep + column() + 32 * j] =
              values[i][j];
        }
      }
    }
    static DEVICE void clear(C (&sums)[kGroups][kR][kV]) {
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
#pragma unroll
        for (int i = 0; i < kR; ++i) {
#pragma unroll
          for (int j = 0; j < kV; ++j) sums[g][i][j] = 0;
        }
      }
    }
    static DEVICE void scale_rows(C (&sums)[kGroups][kR][kV],
                                  const C* factors) {
#pragma unroll
      for (int i = 0; i < kR; ++i) {
        const C factor = factors[row() + 16 * i];
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
#pragma unroll
          for (int j = 0; j < kV; ++j) {
            sums[g][i][j] = mul(sums[g][i][j], factor);
          }
        }
      }
    }
    static DEVICE void store_rows(const C (&sums)[kGroups][kR][kV], C factor,
                                  T* to, S stride, int rows) {
#pragma unroll
      for (int i = 0; i < kR; ++i) {
        const int r = row() + 16 * i;
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
#pragma unroll
          for (int j = 0; j < kV; ++j) {
            const int c = g * kTile + column() * kV + j;
            if (r < rows && c < kWidth) {
              to[r * stride + c] = store<T>(mul(sums[g][i][j], factor));
            }
          }
        }
      }
    }
  };
)";

}  // namespace

std::int64_t attention_tile(DType compute) {
  return compute == DType::f64 ? 32 : 64;
}

std::string attention_tiles_text(const AttentionShape& shape, DType dtype) {
  const DType compute = wide_dtype(dtype);
  const std::int64_t most = 16 / size_of(compute);
  return cuda_text(
      kTiles, {{"T", cuda_type(dtype)},
               {"C", cuda_type(compute)},
               {"S", "i64"},
               {"tile", attention_tile(compute)},
               {"width", shape.width},
               {"V", std::min(most, cuda_width(size_of(dtype), shape.width))}});
}

}  // namespace plimsoll::ops
