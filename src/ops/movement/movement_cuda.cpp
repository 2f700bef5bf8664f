#include "ops/movement/movement_cuda.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "ops/cuda_text.h"
#include "ops/movement/moves_cuda.h"
#include "ops/movement/pack_cuda.h"
#include "ops/movement/transpose_axes.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

std::string_view word_of(std::int64_t bytes) {
  switch (bytes) {
    case 1:
      return "u8";
    case 2:
      return "u16";
    case 4:
      return "u32";
    default:
      return "u64";
  }
}

Result<cuda::OpCode> copy(const KernelQuery& query, const CudaSettings&) {
  const std::int64_t bytes = query.outputs[0].bytes();
  if (bytes == 0) return cuda_op(query, "copy:cuda", "", 1);
  // As bytes: any dtype.
  const std::int64_t width = cuda_width(1, bytes);
  return cuda_op(
      query, "copy:cuda",
      cuda_text(R"(  for ($I i = ($I)(block * 512 + threadIdx.x) * $V; i < $N;
       i += ($I)blocks * (512 * $V)) {
    write<$V>((u8*)out0 + i, read<$V>((const u8*)in0 + i));
  }
)",
                {{"I", cuda_index(bytes)}, {"V", width}, {"N", bytes}}),
      cuda_blocks_of_threads(bytes / width));
}

Result<cuda::OpCode> cast(const KernelQuery& query, const CudaSettings&) {
  const DType from = query.inputs[0].dtype;
  const DType to = query.outputs[0].dtype;
  const std::int64_t elements = query.outputs[0].shape.elements();
  if (elements == 0) return cuda_op(query, "cast:cuda", "", 1);
  const std::int64_t width =
      cuda_width(std::max(size_of(from), size_of(to)), elements);
  return cuda_op(
      query, "cast:cuda",
      cuda_text(R"(  for ($I i = ($I)(block * 512 + threadIdx.x) * $V; i < $N;
       i += ($I)blocks * (512 * $V)) {
    const Vec<$From, $V> x = read<$V>(in0 + i);
    Vec<$To, $V> y;
#pragma unroll
    for (int j = 0; j < $V; ++j) y.v[j] = store<$To>(load(x.v[j]));
    write<$V>(out0 + i, y);
  }
)",
                {{"I", cuda_index(elements)},
                 {"V", width},
                 {"N", elements},
                 {"From", cuda_type(from)},
                 {"To", cuda_type(to)}}),
      cuda_blocks_of_threads(elements / width));
}

// The input's innermost dimension stays innermost: runs are moved as they are.
cuda::OpCode move_runs(const KernelQuery& query,
                       const std::vector<TransposeAxis>& axes) {
  const std::int64_t elements = query.outputs[0].shape.elements();
  const std::int64_t bytes = size_of(query.outputs[0].dtype);
  const std::int64_t width = cuda_width(bytes, axes.back().extent);
  std::vector<CudaAxis> from;
  for (const TransposeAxis& axis : axes) {
    from.push_back({axis.extent, axis.stride});
  }
  return cuda_op(
      query, "transpose:cuda",
      cuda_text(R"(  for ($I i = ($I)(block * 512 + threadIdx.x) * $V; i < $N;
       i += ($I)blocks * (512 * $V)) {
    write<$V>(($W*)out0 + i, read<$V>((const $W*)in0 + $from));
  }
)",
                {{"I", cuda_index(elements)},
                 {"V", width},
                 {"N", elements},
                 {"W", word_of(bytes)},
                 {"from", cuda_offset(from, "i")}}),
      cuda_blocks_of_threads(elements / width));
}

// Tiles of 32 by 32 through shared memory: what lies side by side is read, and
// written, by neighbouring threads.
cuda::OpCode move_tiles(const KernelQuery& query,
                        const std::vector<TransposeAxis>& axes) {
  const std::int64_t elements = query.outputs[0].shape.elements();
  const TransposeAxis columns = axes.back();
  TransposeAxis rows;  // along which the input lies side by side
  std::int64_t rows_apart = 0;
  std::vector<CudaAxis> from, to;  // all other axes
  std::int64_t inner = 1;
  for (std::size_t i = axes.size() - 1; i-- > 0;) {
    inner *= axes[i + 1].extent;
    if (axes[i].stride == 1) {
      rows = axes[i];
      rows_apart = inner;
    } else {
      from.insert(from.begin(), {axes[i].extent, axes[i].stride});
      to.insert(to.begin(), {axes[i].extent, inner});
    }
  }
  const std::int64_t row_tiles = (rows.extent + 31) / 32;
  const std::int64_t column_tiles = (columns.extent + 31) / 32;
  const std::int64_t planes = elements / (rows.extent * columns.extent);
  const std::string plane = fmt::format("task / {}", row_tiles * column_tiles);
  const std::int64_t tiles = planes * row_tiles * column_tiles;
  return cuda_op(query, "transpose:cuda",
                 cuda_text(R"(  typedef $I I;
  $W* tile = shared_tile<$W>();
  const u32 x = threadIdx.x % 32, y = threadIdx.x / 32;
  for (I task = block; task < $tiles; task += blocks) {
    const I column = task % $column_tiles * 32;
    const I row = task / $column_tiles % $row_tiles * 32;
    const $W* from = (const $W*)in0 + $from;
    $W* to = ($W*)out0 + $to;
#pragma unroll
    for (u32 k = y; k < 32; k += 16) {
      if (row + x < $rows && column + k < $columns) {
        tile[k * 33 + x] = from[(row + x) + (column + k) * $columns_apart];
      }
    }
    __syncthreads();
#pragma unroll
    for (u32 k = y; k < 32; k += 16) {
      if (row + k < $rows && column + x < $columns) {
        to[(row + k) * $rows_apart + (column + x)] = tile[x * 33 + k];
      }
    }
    __syncthreads();
  }
)",
                           {{"I", cuda_index(elements)},
                            {"W", word_of(size_of(query.outputs[0].dtype))},
                            {"tiles", tiles},
                            {"column_tiles", column_tiles},
                            {"row_tiles", row_tiles},
                            {"from", cuda_offset(from, plane)},
                            {"to", cuda_offset(to, plane)},
                            {"rows", rows.extent},
                            {"columns", columns.extent},
                            {"columns_apart", columns.stride},
                            {"rows_apart", rows_apart}}),
                 cuda_blocks(tiles));
}

Result<cuda::OpCode> transpose(const KernelQuery& query, const CudaSettings&) {
  if (query.outputs[0].shape.elements() == 0) {
    return cuda_op(query, "transpose:cuda", "", 1);
  }
  const auto axes =
      transpose_axes(query.inputs[0].shape,
                     query.attrs->get<std::vector<std::int64_t>>("perm"));
  const TransposeAxis& last = axes.back();
  return last.stride == 1 || last.extent == 1 ? move_runs(query, axes)
                                              : move_tiles(query, axes);
}

Result<cuda::OpCode> pack(const KernelQuery& query, const CudaSettings&) {
  return pack_cuda(query);
}

template <Moves (*moves_of)(const KernelQuery&)>
Result<cuda::OpCode> moves(const KernelQuery& query,
                           const CudaSettings& settings) {
  return moves_cuda(query, moves_of(query), settings);
}

}  // namespace

std::span<const CudaKernels> movement_cuda_kernels() {
  static constexpr std::array<CudaKernels, 11> kernels = {{
      {"reshape", copy},
      {"transpose", transpose},
      {"cast", cast},
      {"copy", copy},
      {"pack", pack},
      {"unpack", pack},
      {"concat", moves<concat_moves>},
      {"split", moves<split_moves>},
      {"slice", moves<slice_moves>},
      {"pad", moves<pad_moves>},
      {"expand", moves<expand_moves>},
  }};
  return kernels;
}

}  // namespace plimsoll::ops
