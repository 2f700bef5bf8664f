#include "ops/cuda_text.h"
#include "ops/embedding/summed_rows_cuda.h"
#include "ops/indexing/gather.h"
#include "ops/indexing/indexing_cuda.h"

namespace plimsoll::ops {
namespace {

// A warp owns a row of the result, or 32 vectors of it, and adds in the order
// of the indices, so that no sum depends on who comes first.
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
$begin$find    if (column < $inner) {
      Vec<T, $V> y;
#pragma unroll
      for (int v = 0; v < $V; ++v) y.v[v] = store<T>(sum[v]);
      write<$V>(out0 + target * $inner + column, y);
    }
  }
)";

constexpr std::string_view kFromZero = R"(#pragma unroll
    for (int v = 0; v < $V; ++v) sum[v] = 0;
)";

constexpr std::string_view kFromBase = R"(    if (column < $inner) {
      const Vec<T, $V> base = read<$V>(in2 + target * $inner + column);
#pragma unroll
      for (int v = 0; v < $V; ++v) sum[v] = (C)load(base.v[v]);
    }
)";

// Looks at all indices.
constexpr std::string_view kScan =
    R"(    for (I first = 0; first < $indices; first += 32) {
      i64 at = -1;
      if (first + lane < $indices) {
        at = (i64)in1[first + lane];
    $from_end      }
      u32 hits = __ballot_sync(0xffffffffu, at == (i64)row);
      for (; hits != 0; hits &= hits - 1) {
        const I k = first + (__ffs(hits) - 1);
        if (column < $inner) {
          const Vec<T, $V> x = read<$V>(from + (I)k * $inner);
#pragma unroll
          for (int v = 0; v < $V; ++v) sum[v] = add(sum[v], (C)load(x.v[v]));
        }
      }
    }
)";

constexpr std::string_view kZeros =
    R"(  for (u64 i = (u64)(block * 512 + threadIdx.x) * $V; i < $elementsull;
       i += (u64)blocks * (512 * $V)) {
    Vec<$W, $V> zeros;
#pragma unroll
    for (int j = 0; j < $V; ++j) zeros.v[j] = 0;
    write<$V>(($W*)out0 + i, zeros);
  }
)";

// In place there is nothing to copy.
constexpr std::string_view kCopy =
    R"(  if ((const void*)in2 != (const void*)out0) {
    for (u64 i = (u64)(block * 512 + threadIdx.x) * $V; i < $elementsull;
         i += (u64)blocks * (512 * $V)) {
      write<$V>(($W*)out0 + i, read<$V>((const $W*)in2 + i));
    }
  }
)";

constexpr std::string_view kWrite = R"(    Vec<T, $V> total;
#pragma unroll
    for (int j = 0; j < $V; ++j) total.v[j] = store<T>(sum[j]);
    write<$V>(out0 + at, total);
)";

// What `before` has put there is the sum's beginning.
constexpr std::string_view kAdd = R"(    Vec<T, $V> total;
#pragma unroll
    for (int j = 0; j < $V; ++j) {
      total.v[j] = store<T>(add((C)load(out0[at + j]), sum[j]));
    }
    write<$V>(out0 + at, total);
)";

// Indices looked at by all owners, and by one whose sums may follow one another
// for all of them, before a sort is worth its launches.
constexpr double kMostLooks = 1 << 25;
constexpr std::int64_t kMostScanned = 512;

std::string_view word_of(std::int64_t bytes) {
  return bytes == 2 ? "u16" : bytes == 4 ? "u32" : "u64";
}

bool adds_to_base(const graph::KernelQuery& query) {
  return query.inputs.size() == 3;
}

// Zeros everywhere, or what is added to, and the sums of the rows that indices
// name: their own cost follows from the number of indices.
cuda::OpCode sorted_rows(const graph::KernelQuery& query, const Gathered& shape,
                         const RowKeys& keys) {
  const graph::TensorType& out = query.outputs[0];
  const std::int64_t vector = cuda_width(size_of(out.dtype), shape.inner);
  const std::int64_t elements = out.shape.elements();
  CudaSummedRows how;
  how.dy = 0;
  how.indices = 1;
  how.keys = keys;
  how.planes = shape.outer;
  how.width = shape.inner;
  how.from_end = counts_from_end(*query.attrs);
  how.before = cuda_text(adds_to_base(query) ? kCopy : kZeros,
                         {{"V", vector},
                          {"W", word_of(size_of(out.dtype))},
                          {"elementsull", std::to_string(elements) + "ull"}});
  how.before_cost.bytes = static_cast<double>(out.bytes());
  how.before_blocks = cuda_blocks_of_threads(elements / vector);
  how.use = cuda_text(adds_to_base(query) ? kAdd : kWrite, {{"V", vector}});
  return cuda_summed_rows(query, how);
}

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

  const auto keys = RowKeys::of(query.inputs[1], shape.rows);
  if (keys && (shape.indices > kMostScanned ||
               double(tasks) * double(shape.indices) > kMostLooks)) {
    return sorted_rows(query, shape, *keys);
  }
  const std::string begin =
      cuda_text(adds_to_base(query) ? kFromBase : kFromZero,
                {{"V", width}, {"inner", shape.inner}});
  const std::string scan =
      cuda_text(kScan, {{"rows", shape.rows},
                        {"indices", shape.indices},
                        {"inner", shape.inner},
                        {"V", width},
                        {"from_end", from_end_text(*query.attrs, shape.rows)}});
  return cuda_op(
      query, name,
      cuda_text(kOwners,
                {{"T", cuda_type(out.dtype)},
                 {"C", cuda_type(wide_dtype(out.dtype))},
                 {"I", cuda_index(std::max(out.shape.elements(),
                                           query.inputs[0].shape.elements()))},
                 {"tasks", tasks},
                 {"parts", parts},
                 {"rows", shape.rows},
                 {"indices", shape.indices},
                 {"inner", shape.inner},
                 {"V", width},
                 {"begin", begin},
                 {"find", scan}}),
      cuda_blocks((tasks + 15) / 16));
}

}  // namespace plimsoll::ops
