#include "ops/softmax/softmax_cuda.h"

#include <array>

#include "ops/softmax/rows_cuda.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// Rows are read again instead of kept: they are in the cache. A thread writes
// only what it alone reads, so results may take the place of operands.
constexpr std::string_view kForward = R"(    const T* x = in0 + row * n;
    T* y = out0 + row * n;
    const C top = row_max<Threads, C>(x, n);
    const C scale = div((C)1, row_exp_sum<Threads>(x, n, top));
    for (I j = Threads::lane(); j < n; j += Threads::size) {
      y[j] = store<T>(mul(exp_of(sub(load(x[j]), top)), scale));
    }
)";

constexpr std::string_view kBackward = R"(    const T* dy = in0 + row * n;
    const T* y = in1 + row * n;
    T* dx = out0 + row * n;
    C dot = 0;
    for (I j = Threads::lane(); j < n; j += Threads::size) {
      dot = mul_add(load(dy[j]), load(y[j]), dot);
    }
    dot = Threads::join<Sum>(dot);
    for (I j = Threads::lane(); j < n; j += Threads::size) {
      dx[j] = store<T>(mul(sub(load(dy[j]), dot), load(y[j])));
    }
)";

Result<cuda::OpCode> forward(const KernelQuery& query, const CudaSettings&) {
  if (!is_floating(query.inputs[0].dtype)) return cuda::OpCode();
  return rows_cuda(query, query.inputs[0], kForward);
}

Result<cuda::OpCode> backward(const KernelQuery& query, const CudaSettings&) {
  if (!is_floating(query.inputs[0].dtype)) return cuda::OpCode();
  return rows_cuda(query, query.inputs[0], kBackward);
}

}  // namespace

std::span<const CudaKernels> softmax_cuda_kernels() {
  static constexpr std::array<CudaKernels, 2> kernels = {{
      {"softmax", forward},
      {"softmax_grad", backward},
  }};
  return kernels;
}

}  // namespace plimsoll::ops
