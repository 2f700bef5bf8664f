#include "ops/embedding/embedding_cuda.h"

#include <fmt/core.h>

#include "ops/embedding/summed_rows_cuda.h"
#include "ops/update/update_cuda.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

constexpr std::string_view kGather = R"(  typedef $T T;
  typedef $I I;
  for (I task = (I)block * 512 + threadIdx.x; task < $tasks;
       task += (I)blocks * 512) {
    const i64 row = in1[task / $groups];
    Vec<T, $V> x;
    if (row >= 0 && row < $rowsll) {
      x = read<$V>(in0 + row * $D + task % $groups * $V);
    } else {
#pragma unroll
      for (int j = 0; j < $V; ++j) x.v[j] = store<T>(nan_of<$C>());
    }
    write<$V>(out0 + task * $V, x);
  }
)";

Result<cuda::OpCode> gather(const KernelQuery& query, const CudaSettings&) {
  const graph::TensorType& table = query.inputs[0];
  const std::int64_t elements = query.outputs[0].shape.elements();
  if (elements == 0) return cuda_op(query, "embedding:cuda", "", 1);
  const std::int64_t width = table.shape.extent(1);
  const std::int64_t vector = cuda_width(size_of(table.dtype), width);
  return cuda_op(
      query, "embedding:cuda",
      cuda_text(kGather,
                {{"T", cuda_type(table.dtype)},
                 {"C", cuda_type(cuda_compute(table.dtype))},
                 {"I", cuda_index(elements)},
                 {"V", vector},
                 {"D", width},
                 {"groups", width / vector},
                 {"tasks", elements / vector},
                 {"rowsll", fmt::format("{}ll", table.shape.extent(0))}}),
      cuda_blocks_of_threads(elements / vector));
}

constexpr std::string_view kZeros =
    R"(  for (u64 i = (u64)(block * 512 + threadIdx.x) * $V; i < $elementsull;
       i += (u64)blocks * (512 * $V)) {
    Vec<$W, $V> zeros;
#pragma unroll
    for (int j = 0; j < $V; ++j) zeros.v[j] = 0;
    write<$V>(($W*)out0 + i, zeros);
  }
)";

std::string_view word_of(std::int64_t bytes) {
  return bytes == 2 ? "u16" : bytes == 4 ? "u32" : "u64";
}

Result<cuda::OpCode> dense_gradient(const KernelQuery& query,
                                    const CudaSettings&) {
  const graph::TensorType& out = query.outputs[0];
  const auto keys = RowKeys::of(query.inputs[1], out.shape.extent(0));
  if (!keys) return cuda::OpCode();
  const std::int64_t width = out.shape.extent(1);
  const std::int64_t vector = cuda_width(size_of(out.dtype), width);
  const std::int64_t elements = out.shape.elements();
  CudaSummedRows how;
  how.dy = 0;
  how.indices = 1;
  how.keys = *keys;
  how.before =
      cuda_text(kZeros, {{"V", vector},
                         {"W", word_of(size_of(out.dtype))},
                         {"elementsull", fmt::format("{}ull", elements)}});
  how.before_cost.bytes = static_cast<double>(out.bytes());
  how.before_blocks = cuda_blocks_of_threads(elements / vector);
  how.use = cuda_text(R"(    Vec<T, $V> total;
#pragma unroll
    for (int j = 0; j < $V; ++j) total.v[j] = store<T>(sum[j]);
    write<$V>(out0 + at, total);
)",
                      {{"V", vector}});
  return cuda_summed_rows(query, how);
}

// In place, as planned, nothing is copied.
constexpr std::string_view kCopy =
    R"(  if ((const void*)out$to != (const void*)in$from) {
    for (u64 i = block * 512 + threadIdx.x; i < $elementsull;
         i += blocks * 512) {
      out$to[i] = in$from[i];
    }
  }
)";

constexpr std::string_view kUpdate =
    R"($closed    Vec<T, $V> parameter = read<$V>(out0 + at);
$reads#pragma unroll
    for (int j = 0; j < $V; ++j) {
      C p = load(parameter.v[j]);
      const C g = $gradient;
$loads$element      parameter.v[j] = store<T>(p);
$stores    }
    write<$V>(out0 + at, parameter);
$writes)";

Result<cuda::OpCode> update(const KernelQuery& query, const CudaSettings&) {
  const graph::TensorType& table = query.inputs[0];
  const auto keys = RowKeys::of(query.inputs.back(), table.shape.extent(0));
  if (!keys || !is_trainable(table.dtype)) return cuda::OpCode();
  const CudaUpdateText rule = cuda_update_text(
      query, dense_rule(query.op->name), query.inputs.size() - 1);
  const std::int64_t vector =
      cuda_width(size_of(table.dtype), table.shape.extent(1));
  const std::string elements = fmt::format("{}ull", table.shape.elements());
  CudaSummedRows how;
  how.dy = 1;
  how.indices = static_cast<int>(query.inputs.size()) - 1;
  how.keys = *keys;
  how.prepare = rule.prepare;
  how.before =
      cuda_text(kCopy, {{"to", 0}, {"from", 0}, {"elementsull", elements}});
  std::string reads, loads, stores, writes;
  for (int k = 0; k < rule.states; ++k) {
    how.before += cuda_text(
        kCopy, {{"to", k + 1}, {"from", k + 2}, {"elementsull", elements}});
    reads += fmt::format("    Vec<T, {0}> state{1} = read<{0}>(out{2} + at);\n",
                         vector, k, k + 1);
    loads += fmt::format("      C s{0} = load(state{0}.v[j]);\n", k);
    stores += fmt::format("      state{0}.v[j] = store<T>(s{0});\n", k);
    writes +=
        fmt::format("    write<{}>(out{} + at, state{});\n", vector, k + 1, k);
  }
  how.use = cuda_text(
      kUpdate, {{"V", vector},
                {"closed", rule.gated ? "    if (gate == (C)0) "
                                        "continue;\n"
                                      : ""},
                {"gradient", rule.gated ? "mul(sum[j], gate)" : "sum[j]"},
                {"reads", reads},
                {"loads", loads},
                {"element", rule.element},
                {"stores", stores},
                {"writes", writes}});
  return cuda_summed_rows(query, how);
}

constexpr CudaKernels kKernels[] = {
    {"embedding", gather}, {"embedding_grad", dense_gradient},
    {"sgd_rows", update},  {"sgd_momentum_rows", update},
    {"adam_rows", update}, {"adamw_rows", update}};

}  // namespace

std::span<const CudaKernels> embedding_cuda_kernels() { return kKernels; }

}  // namespace plimsoll::ops
