#include "ops/cuda_text.h"
#include "ops/indexing/gather.h"
#include "ops/indexing/indexing_cuda.h"

namespace plimsoll::ops {
namespace {

// A warp owns a row of the result, or 32 vectors of it, and adds in the order
// of the indices, so that no sum depends on who comes first. A row that most
// indices name is therefore slow: its sums follow one another.
constexpr std::string_view kOwners = R"(  typedef $T T;
  typedef $C C;
  typedef $I I;
  const u32 lane = threadIdx.x & 31;
  for (I task = (I)block * 16 + (threadIdx.x >> 5); task < $tasks;
       task += (I)blocks * 16) {
    const I target = task / $parts;
    const I row = target % $rows;
    const I column = (task % $parts * 32 + lane) * $V;
    const T* from = in0 + target / $rows * ($indices * (I)$inner) + column;
    C sum[$V];
#pragma unroll
    for (int v = 0; v < $V; ++v) sum[v] = 0;
$find    if (column < $inner) {
      Vec<T, $V> y;
#pragma unroll
      for (int v = 0; v < $V; ++v) y.v[v] = store<T>(sum[v]);
      write<$V>(out0 + target * $inner + column, y);
    }
  }
)";

// Adds row k of the values.
constexpr std::string_view kAdd = R"(if (column < $inner) {
          const Vec<T, $V> x = read<$V>(from + (I)k * $inner);
#pragma unroll
          for (int v = 0; v < $V; ++v) sum[v] = add(sum[v], (C)load(x.v[v]));
        })";

// Looks at all indices.
constexpr std::string_view kScan =
    R"(    for (I first = 0; first < $indices; first += 32) {
      i64 at = -1;
      if (first + lane < $indices) {
        at = (i64)in1[first + lane];
        if (at < 0) at += $rows;
      }
      u32 hits = __ballot_sync(0xffffffffu, at == (i64)row);
      for (; hits != 0; hits &= hits - 1) {
        const I k = first + (__ffs(hits) - 1);
        $add
      }
    }
)";

// The row's own indices stand at slots[begin ...] in any order: the next one is
// looked for among them, or among all where that is less.
constexpr std::string_view kSlots = R"(    const u32 many = counts[row];
    if ((u64)many * many > $indices) {
$scan    } else {
      const u32* own = slots + (ends[row] - many);
      u32 next = 0;
      for (u32 done = 0; done < many; ++done) {
        u32 k = 0xffffffffu;
        for (u32 j = lane; j < many; j += 32) {
          const u32 other = own[j];
          if (other >= next && other < k) k = other;
        }
#pragma unroll
        for (int step = 16; step > 0; step >>= 1) {
          const u32 other = __shfl_xor_sync(0xffffffffu, k, step);
          if (other < k) k = other;
        }
        next = k + 1;
        $add
      }
    }
)";

// How many indices name each row, where the row's slots end, the slots, and
// how many of them are taken.
constexpr std::string_view kScratch = R"(  u32* counts = (u32*)scratch;
  u32* ends = counts + $rows;
  u32* slots = ends + $rows;
  u32* taken = slots + $indices;
  const u32 thread = (u32)block * 512 + threadIdx.x;
  const u32 threads = (u32)blocks * 512;
)";

constexpr std::string_view kClear =
    R"(  for (u32 i = thread; i < $rows; i += threads) counts[i] = 0;
  if (thread == 0) *taken = 0;
)";

// Integers: their sums do not depend on the order.
constexpr std::string_view kCount =
    R"(  for (u32 i = thread; i < $indices; i += threads) {
    i64 at = (i64)in1[i];
    if (at < 0) at += $rows;
    if (at >= 0 && at < $rows) atomicAdd(counts + at, 1u);
  }
)";

constexpr std::string_view kPlace =
    R"(  for (u32 i = thread; i < $rows; i += threads) {
    ends[i] = counts[i] > 0 ? atomicAdd(taken, counts[i]) : 0;
  }
)";

// Afterwards ends[i] is the end indeed.
constexpr std::string_view kFill =
    R"(  for (u32 i = thread; i < $indices; i += threads) {
    i64 at = (i64)in1[i];
    if (at < 0) at += $rows;
    if (at >= 0 && at < $rows) slots[atomicAdd(ends + at, 1u)] = i;
  }
)";

// Indices looked at before slots are worth their four launches.
constexpr double kMostLooks = 1 << 25;

}  // namespace

Result<cuda::OpCode> scatter_add_cuda(const graph::KernelQuery& query,
                                      const CudaSettings&) {
  const graph::TensorType& out = query.outputs[0];
  if (!is_floating(out.dtype)) return cuda::OpCode();
  const Gathered shape = gathered(out, query.inputs[1], *query.attrs);
  const std::int64_t width = cuda_width(size_of(out.dtype), shape.inner);
  const std::int64_t parts = (shape.inner / width + 31) / 32;
  const std::int64_t tasks = shape.outer * shape.rows * parts;
  const std::string name = "scatter_add:cuda";
  if (tasks == 0) return cuda_op(query, name, "", 1);

  const auto filled = [&](std::string_view text) {
    return cuda_text(text, {{"rows", shape.rows},
                            {"indices", shape.indices},
                            {"inner", shape.inner},
                            {"V", width}});
  };
  const auto owners = [&](std::string_view find) {
    const std::string add = filled(kAdd);
    const std::string scan = cuda_text(
        kScan,
        {{"rows", shape.rows}, {"indices", shape.indices}, {"add", add}});
    const std::string text = cuda_text(
        find, {{"indices", shape.indices}, {"add", add}, {"scan", scan}});
    return cuda_text(
        kOwners, {{"T", cuda_type(out.dtype)},
                  {"C", cuda_type(cuda_compute(out.dtype))},
                  {"I", cuda_index(std::max(out.shape.elements(),
                                            query.inputs[0].shape.elements()))},
                  {"tasks", tasks},
                  {"parts", parts},
                  {"rows", shape.rows},
                  {"indices", shape.indices},
                  {"inner", shape.inner},
                  {"V", width},
                  {"find", text}});
  };
  const std::int64_t blocks = cuda_blocks((tasks + 15) / 16);
  constexpr std::int64_t kMostSlots = std::int64_t{1} << 31;
  if (double(tasks) * double(shape.indices) <= kMostLooks ||
      shape.rows >= kMostSlots || shape.indices >= kMostSlots) {
    return cuda_op(query, name, owners("$scan"), blocks);
  }

  cuda::OpCode code;
  code.name = name;
  code.scratch_bytes = 4 * (2 * shape.rows + shape.indices + 1);
  const std::int64_t by_row = cuda_blocks_of_threads(shape.rows);
  const std::int64_t by_index = cuda_blocks_of_threads(shape.indices);
  const auto add_stage = [&](std::string_view text, std::int64_t shared,
                             std::int64_t looked_at) {
    code.stages.emplace_back(
        cuda_function(query, filled(kScratch) + filled(text), shared,
                      {double(looked_at), 8 * double(looked_at)}));
  };
  add_stage(kClear, by_row, shape.rows);
  add_stage(kCount, by_index, shape.indices);
  add_stage(kPlace, by_row, shape.rows);
  add_stage(kFill, by_index, shape.indices);
  code.stages.emplace_back(
      cuda_function(query, filled(kScratch) + owners(kSlots), blocks,
                    query.op->cost(query.inputs, query.outputs, *query.attrs)));
  return code;
}

}  // namespace plimsoll::ops
