#include "ops/matmul/vector_cuda.h"

#include <fmt/core.h>

#include <algorithm>

#include "ops/cuda_text.h"

namespace plimsoll::ops {
namespace {

constexpr std::int64_t kBlock = 512;
constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kLeastTeam = 4;
// Threads that keep the memory of a large device busy.
constexpr std::int64_t kManyThreads = 1 << 17;
// Of a column's tile: so many threads side by side, the others share its sums.
constexpr std::int64_t kSideBySide = 8;
constexpr std::int64_t kFewTiles = 64;
constexpr std::int64_t kLongColumn = 4096;

// The operands by their part in it: `results` rows of the matrix, each summed
// with the vector, whose elements always lie together.
struct ByVector {
  std::string_view matrix, vector;
  std::int64_t results, row, column;        // strides of a result and of a sum
  std::int64_t matrix_batch, vector_batch;  // likewise of a batch
};

ByVector by_vector(const ProductShape& shape) {
  if (shape.n == 1) {
    return {"in0",       "in1",         shape.m,      shape.a_row,
            shape.a_col, shape.a_batch, shape.b_batch};
  }
  return {"in1",       "in0",         shape.n,      shape.b_col,
          shape.b_row, shape.b_batch, shape.a_batch};
}

// A team of threads a result. Teams behind the end make the last one's.
constexpr std::string_view kRows =
    R"(  const int teams = 512 / $T;
  const u32 lane = threadIdx.x % $T;
  for (I first = block * teams; first < $N; first += (I)blocks * teams) {
    const I mine = first + threadIdx.x / $T;
    const I o = mine < $N ? mine : $N - 1;
    const A* row = $matrix + o / $results * $matrix_batch + o % $results * $row;
    const A* by = $vector + o / $results * $vector_batch;
    C sum = 0;
#pragma unroll 4
    for (I p = lane * $W; p < $k; p += $T * $W) {
      const Vec<C, $W> a = read_as<$W, C>(row + p);
      const Vec<C, $W> b = read_as<$W, C>(by + p);
#pragma unroll
      for (int w = 0; w < $W; ++w) sum = mul_add(a.v[w], b.v[w], sum);
    }
    sum = Team<$T>::join<Sum>(sum);
    if (lane == 0 && mine < $N) {
      $finish
    }
  }
)";

// Results lie together: eight threads read a piece of each of a block's rows,
// and the rows' parts are joined in order.
constexpr std::string_view kColumns =
    R"(  const int columns = 8 * $W;
  const u32 lane = threadIdx.x % 8;
  C* parts = shared_tile<C>();
  for (I tile = block; tile < $tiles; tile += blocks) {
    const I batch = tile / $tiles_each;
    const I start = tile % $tiles_each * columns;
    const I first = start + lane * $W;
    C sums[$W];
#pragma unroll
    for (int w = 0; w < $W; ++w) sums[w] = 0;
    if (first < $results) {
      const A* from = $matrix + batch * $matrix_batch + first;
      const A* by = $vector + batch * $vector_batch;
#pragma unroll 4
      for (I p = threadIdx.x / 8; p < $k; p += 64) {
        const C x = load(by[p]);
        const Vec<C, $W> a = read_as<$W, C>(from + p * $column);
#pragma unroll
        for (int w = 0; w < $W; ++w) sums[w] = mul_add(a.v[w], x, sums[w]);
      }
    }
#pragma unroll
    for (int w = 0; w < $W; ++w) {
      sums[w] = add(sums[w], __shfl_xor_sync(0xffffffffu, sums[w], 8));
      sums[w] = add(sums[w], __shfl_xor_sync(0xffffffffu, sums[w], 16));
      if (threadIdx.x % 32 < 8) {
        parts[threadIdx.x / 32 * columns + lane * $W + w] = sums[w];
      }
    }
    __syncthreads();
    if (threadIdx.x < columns && start + threadIdx.x < $results) {
      C sum = parts[threadIdx.x];
#pragma unroll
      for (int w = 1; w < 16; ++w) {
        sum = add(sum, parts[w * columns + threadIdx.x]);
      }
      const I o = batch * $results + start + threadIdx.x;
      $finish
    }
    __syncthreads();
  }
)";

// As many threads a result as keep the device busy and have something to read.
std::int64_t team_of(std::int64_t results, std::int64_t reads) {
  std::int64_t threads = kBlock;
  while (threads > kWarp && threads / 2 * results >= kManyThreads) threads /= 2;
  return std::min(threads, std::max(kLeastTeam, cuda_power_of_two(reads)));
}

struct Tiles {
  std::int64_t width;  // elements that are read at once
  std::int64_t each;   // tiles of a batch
};
Tiles column_tiles(const ByVector& of, DType operands) {
  const std::int64_t width = cuda_width(size_of(operands), of.results);
  const std::int64_t columns = kSideBySide * width;
  return {width, (of.results + columns - 1) / columns};
}

}  // namespace

bool suits_vector(const ProductShape& shape, DType operands) {
  if (shape.m != 1 && shape.n != 1) return false;
  const ByVector of = by_vector(shape);
  if (of.column == 1 || (shape.bias && shape.n == 1)) return true;
  // Few tiles of long columns: the library splits them.
  return shape.batch * column_tiles(of, operands).each >= kFewTiles ||
         shape.k <= kLongColumn;
}

cuda::OpCode vector_product(const graph::KernelQuery& query,
                            const ProductShape& shape,
                            const std::string& finish) {
  const ByVector of = by_vector(shape);
  const DType operands = query.inputs[0].dtype;
  const bool rows = of.column == 1;
  const std::int64_t results = shape.batch * of.results;
  const Tiles tiles = column_tiles(of, operands);
  const std::int64_t width =
      rows ? cuda_width(size_of(operands), shape.k) : tiles.width;
  const std::int64_t team = team_of(results, shape.k / width);
  const std::int64_t most = std::max({results, query.inputs[0].shape.elements(),
                                      query.inputs[1].shape.elements()});
  const std::string types =
      fmt::format("  typedef {} A;\n  typedef {} C;\n  typedef {} I;\n",
                  cuda_type(operands), cuda_type(wide_dtype(operands)),
                  cuda_index(most + kBlock * width));
  const std::string body =
      types +
      cuda_text(rows ? kRows : kColumns, {{"matrix_batch", of.matrix_batch},
                                          {"vector_batch", of.vector_batch},
                                          {"matrix", of.matrix},
                                          {"vector", of.vector},
                                          {"results", of.results},
                                          {"row", of.row},
                                          {"column", of.column},
                                          {"tiles_each", tiles.each},
                                          {"tiles", shape.batch * tiles.each},
                                          {"finish", finish},
                                          {"N", results},
                                          {"T", team},
                                          {"W", width},
                                          {"k", shape.k}});
  return cuda_op(query, rows ? "matmul:cuda:rows" : "matmul:cuda:columns", body,
                 cuda_blocks(rows ? (results * team + kBlock - 1) / kBlock
                                  : shape.batch * tiles.each));
}

}  // namespace plimsoll::ops
