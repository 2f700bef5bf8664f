// argmax, topk and its gradient.
#include "ops/cuda_text.h"
#include "ops/indexing/indexing_cuda.h"
#include "ops/movement/axis_of.h"
#include "ops/softmax/rows_cuda.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// Elements as unsigned numbers of the same order: NaN last, zeros equal.
constexpr std::string_view kFloatKey = R"(    typedef u32 K;
    const auto key = [](T stored) -> K {
      const f32 x = load(stored);
      if (x != x) return 0xffffffffu;
      const u32 bits = __float_as_uint(x == 0.0f ? 0.0f : x);
      return bits >> 31 ? ~bits : bits | 0x80000000u;
    };
)";
constexpr std::string_view kDoubleKey = R"(    typedef u64 K;
    const auto key = [](T x) -> K {
      if (x != x) return ~0ull;
      const u64 bits = (u64)__double_as_longlong(x == 0.0 ? 0.0 : x);
      return bits >> 63 ? ~bits : bits | (1ull << 63);
    };
)";
constexpr std::string_view kSignedKey = R"(    typedef u64 K;
    const auto key = [](T x) -> K { return (u64)(i64)x ^ (1ull << 63); };
)";
constexpr std::string_view kUnsignedKey = R"(    typedef u64 K;
    const auto key = [](T stored) -> K { return (u64)load(stored); };
)";

std::string_view key_text(DType dtype) {
  if (dtype == DType::f64) return kDoubleKey;
  if (is_floating(dtype)) return kFloatKey;
  return dtype <= DType::i64 ? kSignedKey : kUnsignedKey;
}

// A thread that has seen nothing is no better than anything.
constexpr std::string_view kArgmaxRow = R"(    const T* x = in0 + row * n;
    K best = 0;
    u32 at = 0xffffffffu;
    for (I j = Threads::lane(); j < n; j += Threads::size) {
      const K next = key(x[j]);
      if (better(next, (u32)j, best, at)) {
        best = next;
        at = (u32)j;
      }
    }
    at = Threads::first_best(best, at);
    if (Threads::lane() == 0) out0[row] = (i64)at;
)";

constexpr std::string_view kArgmaxColumns = R"(  typedef $T T;
  typedef $I I;
$key  for (I i = (I)block * 512 + threadIdx.x; i < $N; i += (I)blocks * 512) {
    const T* x = in0 + i / $inner * ((I)$n * $inner) + i % $inner;
    K best = key(*x);
    u32 at = 0;
    for (u32 j = 1; j < $n; ++j) {
      const K next = key(x[(I)j * $inner]);
      if (next > best) {
        best = next;
        at = j;
      }
    }
    out0[i] = (i64)at;
  }
)";

// Each round takes the first that comes after the last one taken: rows are
// read k times, which is fine for few.
constexpr std::string_view kTopK = R"(    const T* x = in0 + row * n;
    K last = ~(K)0;
    u32 last_at = 0;
    for (u32 round = 0; round < $k; ++round) {
      K best = 0;
      u32 at = 0xffffffffu;
      for (I j = Threads::lane(); j < n; j += Threads::size) {
        const K next = key(x[j]);
        const bool left =
            round == 0 || next < last || (next == last && j > last_at);
        if (left && better(next, (u32)j, best, at)) {
          best = next;
          at = (u32)j;
        }
      }
      at = Threads::first_best(best, at);
      last = key(x[at]);
      last_at = at;
      if (Threads::lane() == 0) {
        out0[row * $k + round] = x[at];
        out1[row * $k + round] = (i64)at;
      }
    }
)";

constexpr std::string_view kTopKGrad = R"(    T* dx = out0 + row * n;
    const T zero = {};
    for (I j = Threads::lane(); j < n; j += Threads::size) dx[j] = zero;
    if (Threads::size == 32) __syncwarp(); else __syncthreads();
    for (I j = Threads::lane(); j < $k; j += Threads::size) {
      const i64 at = in1[row * $k + j];
      if (at >= 0 && at < (i64)n) dx[at] = in0[row * $k + j];
    }
)";

}  // namespace

Result<cuda::OpCode> argmax_cuda(const KernelQuery& query,
                                 const CudaSettings&) {
  const graph::TensorType& in = query.inputs[0];
  const AroundAxis around = around_axis(
      in.shape,
      *axis_of(in.shape.rank(), query.attrs->get<std::int64_t>("axis")));
  if (in.shape.elements() == 0) return cuda_op(query, "argmax:cuda", "", 1);
  const std::string key(key_text(in.dtype));
  if (around.inner == 1) {
    // Rows of the axis, whatever the last one is.
    const graph::TensorType rows{in.dtype, {around.outer, around.extent}};
    return rows_cuda(query, rows, key + std::string(kArgmaxRow));
  }
  const std::int64_t columns = around.outer * around.inner;
  return cuda_op(
      query, "argmax:cuda:columns",
      cuda_text(kArgmaxColumns, {{"T", cuda_type(in.dtype)},
                                 {"I", cuda_index(in.shape.elements())},
                                 {"key", key},
                                 {"N", columns},
                                 {"inner", around.inner},
                                 {"n", around.extent}}),
      cuda_blocks_of_threads(columns));
}

Result<cuda::OpCode> topk_cuda(const KernelQuery& query, const CudaSettings&) {
  const graph::TensorType& in = query.inputs[0];
  return rows_cuda(
      query, in,
      std::string(key_text(in.dtype)) +
          cuda_text(kTopK, {{"k", query.outputs[0].shape.extent(-1)}}));
}

Result<cuda::OpCode> topk_grad_cuda(const KernelQuery& query,
                                    const CudaSettings&) {
  return rows_cuda(
      query, query.outputs[0],
      cuda_text(kTopKGrad, {{"k", query.inputs[0].shape.extent(-1)}}));
}

}  // namespace plimsoll::ops
