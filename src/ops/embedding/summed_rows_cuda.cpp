#include "ops/embedding/summed_rows_cuda.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace plimsoll::ops {
namespace {

constexpr std::int64_t kTile = 1024;  // two keys a thread
constexpr std::int64_t kLeastPiece = 64;
// About what one block takes, as work of cuda_function: a step of a sort, and
// of a search whose every step waits for the one before.
constexpr double kFlopsOfSort = 300;
constexpr double kFlopsOfSearch = 30;

// A bitonic sort in shared memory. Indices outside of the table have the
// largest row.
constexpr std::string_view kSortTiles =
    R"($before  u64* tile = shared_tile<u64>();
  for (u32 start = block * $tile; start < $N; start += blocks * $tile) {
    for (u32 k = threadIdx.x; k < $tile; k += 512) {
      u64 key = ~0ull;
      if (start + k < $N) {
        const i64 row = in$indices[start + k];
        key = (u64)(row >= 0 && row < $rowsll ? row : $rowsll) << $bits |
              (start + k);
      }
      tile[k] = key;
    }
    __syncthreads();
    for (u32 size = 2; size <= $tile; size *= 2) {
      for (u32 step = size / 2; step > 0; step /= 2) {
        const u32 a = 2 * threadIdx.x - (threadIdx.x & (step - 1));
        if (a < $tile) {
          const u64 low = tile[a], high = tile[a + step];
          if ((low > high) == ((a & size) == 0)) {
            tile[a] = high;
            tile[a + step] = low;
          }
        }
        __syncthreads();
      }
    }
    for (u32 k = threadIdx.x; k < $tile; k += 512) {
      if (start + k < $N) ((u64*)scratch)[start + k] = tile[k];
    }
    __syncthreads();
  }
)";

// Every key finds its place by itself: its place in its run, and how many of
// the neighbouring run come before it.
constexpr std::string_view kMerge =
    R"(  const u64* from = (const u64*)(scratch + $from);
  u64* to = (u64*)(scratch + $to);
  for (u32 i = block * 512 + threadIdx.x; i < $N; i += blocks * 512) {
    const u64 key = from[i];
    const u32 pair = i & ~(2 * $run - 1);
    const u32 other = min(pair + ((i & $run) != 0 ? 0 : $run), $N);
    u32 low = other, high = min(other + $run, $N);
    while (low < high) {
      const u32 middle = (low + high) / 2;
      if (from[middle] < key) low = middle + 1; else high = middle;
    }
    to[pair + (i & ($run - 1)) + (low - other)] = key;
  }
)";

// The sum from `first` on, up to `last` or the first of another row.
constexpr std::string_view kSum = R"(    u32 stop = first + 1;
    if (stop < last && keys[stop] >> $bits == row) {
      u32 high = last;
      while (stop < high) {
        const u32 middle = (stop + high) / 2;
        if (keys[middle] >> $bits == row) stop = middle + 1; else high = middle;
      }
    }
    C sum[$V];
#pragma unroll
    for (int j = 0; j < $V; ++j) sum[j] = 0;
#pragma unroll 4
    for (u32 k = first; k < stop; ++k) {
      const u64 place = keys[k] & ((1ull << $bits) - 1);
      const Vec<T, $V> next = read<$V>(in$dy + place * $D + column);
#pragma unroll
      for (int j = 0; j < $V; ++j) sum[j] = add(sum[j], (C)load(next.v[j]));
    }
)";

// Pieces begin at multiples of $piece; the first of a row is left to kUse.
constexpr std::string_view kPieces = R"(  typedef $T T;
  typedef $C C;
  const u64* keys = (const u64*)(scratch + $keys);
  C* pieces = (C*)(scratch + $pieces);
  for (u64 task = block * 512 + threadIdx.x; task < $tasksull;
       task += blocks * 512) {
    const u64 column = task % $groups * $V;
    const u32 first = (u32)(task / $groups + 1) * $piece;
    const u32 last = min(first + $piece, $N);
    const u64 row = keys[first] >> $bits;
    if (row >= $rowsull || keys[first - 1] >> $bits != row) continue;
$sum#pragma unroll
    for (int j = 0; j < $V; ++j) {
      pieces[(u64)(first / $piece) * $D + column + j] = sum[j];
    }
  }
)";

constexpr std::string_view kUse = R"(  typedef $T T;
  typedef $C C;
  const u64* keys = (const u64*)(scratch + $keys);
  const C* pieces = (const C*)(scratch + $pieces);
$prepare  for (u64 task = block * 512 + threadIdx.x; task < $tasksull;
       task += blocks * 512) {
    const u64 column = task % $groups * $V;
    const u32 first = (u32)(task / $groups);
    const u32 last = min((first / $piece + 1) * $piece, $N);
    const u64 row = keys[first] >> $bits;
    if (row >= $rowsull) continue;
    if (first > 0 && keys[first - 1] >> $bits == row) continue;
$sum    for (u32 k = last; k < $N && keys[k] >> $bits == row; k += $piece) {
#pragma unroll
      for (int j = 0; j < $V; ++j) {
        sum[j] = add(sum[j], pieces[(u64)(k / $piece) * $D + column + j]);
      }
    }
    const u64 at = row * $D + column;
$use  }
)";

struct Sizes {
  std::int64_t count, tile, piece, merges, width, vector, groups, pieces_offset,
      scratch_bytes, keys_offset;
};

Sizes sizes_of(const RowKeys& keys, const graph::TensorType& dy) {
  Sizes s{};
  s.count = keys.count;
  s.tile = std::clamp<std::int64_t>(cuda_power_of_two(s.count), 2, kTile);
  // About as many pieces as a piece has rows: one row of all indices is the
  // worst case.
  s.piece = kLeastPiece;
  while (s.piece * s.piece < s.count) s.piece *= 2;
  for (std::int64_t run = s.tile; run < s.count; run *= 2) ++s.merges;
  s.width = dy.shape.extent(-1);
  s.vector = cuda_width(size_of(dy.dtype), s.width);
  s.groups = s.width / s.vector;
  s.keys_offset = s.merges % 2 * s.count * 8;
  s.pieces_offset =
      round_up((s.merges > 0 ? 2 : 1) * s.count * 8, std::int64_t{16});
  s.scratch_bytes = s.pieces_offset;
  if (s.count > s.piece) {
    s.scratch_bytes += ((s.count - 1) / s.piece + 1) * s.width *
                       size_of(cuda_compute(dy.dtype));
  }
  return s;
}

}  // namespace

cuda::OpCode cuda_summed_rows(const graph::KernelQuery& query,
                              const CudaSummedRows& how) {
  const graph::TensorType& dy = query.inputs[static_cast<std::size_t>(how.dy)];
  const Sizes s = sizes_of(how.keys, dy);
  cuda::OpCode code;
  code.name = fmt::format("{}:cuda:piece={}", query.op->name, s.piece);
  if (s.count == 0) {
    code.stages.emplace_back(
        cuda_function(query, how.before, how.before_blocks, how.before_cost));
    return code;
  }
  code.scratch_bytes = s.scratch_bytes;
  const auto fill = [&](std::string_view text, std::int64_t tasks) {
    const std::string sum = cuda_text(kSum, {{"V", s.vector},
                                             {"bits", how.keys.place_bits},
                                             {"D", s.width},
                                             {"dy", how.dy}});
    return cuda_text(text, {{"T", cuda_type(dy.dtype)},
                            {"C", cuda_type(cuda_compute(dy.dtype))},
                            {"V", s.vector},
                            {"N", fmt::format("{}u", s.count)},
                            {"D", s.width},
                            {"bits", how.keys.place_bits},
                            {"tasksull", fmt::format("{}ull", tasks)},
                            {"groups", s.groups},
                            {"rowsll", fmt::format("{}ll", how.keys.rows)},
                            {"rowsull", fmt::format("{}ull", how.keys.rows)},
                            {"piece", fmt::format("{}u", s.piece)},
                            {"tile", fmt::format("{}u", s.tile)},
                            {"keys", s.keys_offset},
                            {"pieces", s.pieces_offset},
                            {"indices", how.indices},
                            {"before", how.before},
                            {"prepare", how.prepare},
                            {"use", how.use},
                            {"sum", sum}});
  };
  const auto count = static_cast<double>(s.count);

  graph::Cost sorting = how.before_cost;
  sorting.flops += count * kFlopsOfSort;
  code.stages.emplace_back(cuda_function(
      query, fill(kSortTiles, 0),
      cuda_blocks(std::max(how.before_blocks, (s.count - 1) / s.tile + 1)),
      sorting));

  std::int64_t from = 0, to = s.count * 8;
  for (std::int64_t run = s.tile; run < s.count; run *= 2) {
    const double steps = RowKeys::bits_of(run);
    code.stages.emplace_back(
        cuda_function(query,
                      cuda_text(kMerge, {{"from", from},
                                         {"to", to},
                                         {"N", fmt::format("{}u", s.count)},
                                         {"run", fmt::format("{}u", run)}}),
                      cuda_blocks_of_threads(s.count),
                      {count * steps * kFlopsOfSearch, 16 * count}));
    std::swap(from, to);
  }

  if (s.count > s.piece) {
    const std::int64_t tasks = (s.count - 1) / s.piece * s.groups;
    code.stages.emplace_back(cuda_function(
        query, fill(kPieces, tasks), cuda_blocks_of_threads(tasks),
        {0, static_cast<double>(dy.bytes())}));
  }
  const std::int64_t tasks = s.count * s.groups;
  code.stages.emplace_back(
      cuda_function(query, fill(kUse, tasks), cuda_blocks_of_threads(tasks),
                    {static_cast<double>(dy.shape.elements()),
                     static_cast<double>(dy.bytes()) *
                         static_cast<double>(1 + 2 * query.outputs.size())}));
  return code;
}

}  // namespace plimsoll::ops
