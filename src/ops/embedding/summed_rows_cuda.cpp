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
        i64 row = (i64)in$indices[start + k];
$from_end        key = (u64)(row >= 0 && row < $rowsll ? row : $rowsll) << $bits |
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
      const Vec<T, $V> next =
          read<$V>(in$dy + (plane * $N + place) * $D + column);
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
    const u64 group = task / $groups;
    const u64 plane = $several ? group / $more_pieces : 0;
    const u32 first = (u32)(group - plane * $more_pieces + 1) * $piece;
    const u32 last = min(first + $piece, $N);
    const u64 row = keys[first] >> $bits;
    if (row >= $rowsull || keys[first - 1] >> $bits != row) continue;
$sum#pragma unroll
    for (int j = 0; j < $V; ++j) {
      pieces[(plane * $all_pieces + first / $piece) * $D + column + j] =
          sum[j];
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
    const u64 group = task / $groups;
    const u64 plane = $several ? group / $N : 0;
    const u32 first = (u32)(group - plane * $N);
    const u32 last = min((first / $piece + 1) * $piece, $N);
    const u64 row = keys[first] >> $bits;
    if (row >= $rowsull) continue;
    if (first > 0 && keys[first - 1] >> $bits == row) continue;
$sum    for (u32 k = last; k < $N && keys[k] >> $bits == row; k += $piece) {
#pragma unroll
      for (int j = 0; j < $V; ++j) {
        sum[j] = add(sum[j], pieces[(plane * $all_pieces + k / $piece) * $D +
                                    column + j]);
      }
    }
    const u64 at = (plane * $rowsull + row) * $D + column;
$use  }
)";

struct Sizes {
  std::int64_t count, tile, piece, pieces, merges, vector, groups,
      pieces_offset, scratch_bytes, keys_offset;
};

Sizes sizes_of(const CudaSummedRows& how, const graph::TensorType& dy) {
  Sizes s{};
  s.count = how.keys.count;
  s.tile = std::clamp<std::int64_t>(cuda_power_of_two(s.count), 2, kTile);
  // About as many pieces as a piece has rows: one row of all indices is the
  // worst case.
  s.piece = kLeastPiece;
  while (s.piece * s.piece < s.count) s.piece *= 2;
  for (std::int64_t run = s.tile; run < s.count; run *= 2) ++s.merges;
  s.vector = cuda_width(size_of(dy.dtype), how.width);
  s.groups = how.width / s.vector;
  s.keys_offset = s.merges % 2 * s.count * 8;
  s.pieces_offset =
      round_up((s.merges > 0 ? 2 : 1) * s.count * 8, std::int64_t{16});
  s.scratch_bytes = s.pieces_offset;
  s.pieces = s.count > 0 ? (s.count - 1) / s.piece + 1 : 0;
  if (s.pieces > 1) {
    s.scratch_bytes +=
        how.planes * s.pieces * how.width * size_of(wide_dtype(dy.dtype));
  }
  return s;
}

}  // namespace

cuda::OpCode cuda_summed_rows(const graph::KernelQuery& query,
                              const CudaSummedRows& how) {
  const graph::TensorType& dy = query.inputs[static_cast<std::size_t>(how.dy)];
  const Sizes s = sizes_of(how, dy);
  cuda::OpCode code;
  code.name = fmt::format("{}:cuda:piece={}", query.op->name, s.piece);
  if (s.count == 0) {
    code.stages.emplace_back(
        cuda_function(query, how.before, how.before_blocks, how.before_cost));
    return code;
  }
  code.scratch_bytes = s.scratch_bytes;
  const std::string from_end =
      fmt::format("        if (row < 0) row += {}ll;\n", how.keys.rows);
  const auto fill = [&](std::string_view text, std::int64_t tasks) {
    const std::string sum = cuda_text(kSum, {{"V", s.vector},
                                             {"bits", how.keys.place_bits},
                                             {"D", how.width},
                                             {"N", fmt::format("{}u", s.count)},
                                             {"dy", how.dy}});
    return cuda_text(text, {{"T", cuda_type(dy.dtype)},
                            {"C", cuda_type(wide_dtype(dy.dtype))},
                            {"V", s.vector},
                            {"N", fmt::format("{}u", s.count)},
                            {"D", how.width},
                            {"bits", how.keys.place_bits},
                            {"tasksull", fmt::format("{}ull", tasks)},
                            {"groups", s.groups},
                            {"rowsll", fmt::format("{}ll", how.keys.rows)},
                            {"rowsull", fmt::format("{}ull", how.keys.rows)},
                            {"piece", fmt::format("{}u", s.piece)},
                            {"all_pieces", fmt::format("{}u", s.pieces)},
                            {"more_pieces", fmt::format("{}u", s.pieces - 1)},
                            {"several", how.planes > 1 ? "true" : "false"},
                            {"from_end", how.from_end ? from_end : ""},
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

  if (s.pieces > 1) {
    const std::int64_t tasks = how.planes * (s.pieces - 1) * s.groups;
    code.stages.emplace_back(cuda_function(
        query, fill(kPieces, tasks), cuda_blocks_of_threads(tasks),
        {0, static_cast<double>(dy.bytes())}));
  }
  const std::int64_t tasks = how.planes * s.count * s.groups;
  code.stages.emplace_back(
      cuda_function(query, fill(kUse, tasks), cuda_blocks_of_threads(tasks),
                    {static_cast<double>(dy.shape.elements()),
                     static_cast<double>(dy.bytes()) *
                         static_cast<double>(1 + 2 * query.outputs.size())}));
  return code;
}

}  // namespace plimsoll::ops
