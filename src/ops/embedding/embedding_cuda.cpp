#include "ops/embedding/embedding_cuda.h"

#include <fmt/core.h>

#include "ops/embedding/summed_rows_cuda.h"
#include "ops/update/update_cuda.h"
#include "ops/update/update_form.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

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
  const CudaUpdateText rule = cuda_update_text(query, query.inputs.size() - 1);
  const std::int64_t vector =
      cuda_width(size_of(table.dtype), table.shape.extent(1));
  const std::string elements = fmt::format("{}ull", table.shape.elements());
  CudaSummedRows how;
  how.dy = 1;
  how.indices = static_cast<int>(query.inputs.size()) - 1;
  how.keys = *keys;
  how.width = table.shape.extent(1);
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

std::vector<CudaKernels> collect() {
  std::vector<CudaKernels> kernels;
  for (const UpdateForm& form : kUpdateForms) {
    if (form.rows_op.empty()) continue;
    kernels.push_back({form.rows_op, update});
  }
  return kernels;
}

}  // namespace

std::span<const CudaKernels> embedding_cuda_kernels() {
  static const std::vector<CudaKernels> kernels = collect();
  return kernels;
}

}  // namespace plimsoll::ops
