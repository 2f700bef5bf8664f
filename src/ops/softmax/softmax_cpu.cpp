#include "ops/softmax/softmax_cpu.h"

#include <array>

#include "ops/softmax/row_kernel.h"
#include "ops/softmax/softmax_loops.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

const SoftmaxTables& tables() {
  static const SoftmaxTables best = pick_softmax_tables();
  return best;
}

Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads&) {
  if (!is_trainable(query.inputs[0].dtype)) {
    return std::vector<KernelCandidate>{};
  }
  return std::vector{row_candidate(query, "rows/16", 1e10)};
}

template <class T>
std::unique_ptr<Kernel> make_forward(const KernelQuery& query,
                                     const SoftmaxLoops<T>& loops,
                                     ComputeThreads& threads) {
  const auto run = [forward = loops.forward](
                       const LaunchArgs& args, std::int64_t first,
                       std::int64_t rows, std::int64_t n) {
    forward(input<T>(args, 0, first * n), rows, n, output<T>(args, first * n));
  };
  return make_row_kernel(row_shape(query.inputs[0].shape), run, threads);
}

template <class T>
std::unique_ptr<Kernel> make_backward(const KernelQuery& query,
                                      const SoftmaxLoops<T>& loops,
                                      ComputeThreads& threads) {
  const auto run = [backward = loops.backward](
                       const LaunchArgs& args, std::int64_t first,
                       std::int64_t rows, std::int64_t n) {
    backward(input<T>(args, 0, first * n), input<T>(args, 1, first * n), rows,
             n, output<T>(args, first * n));
  };
  return make_row_kernel(row_shape(query.inputs[0].shape), run, threads);
}

Result<std::unique_ptr<Kernel>> create_forward(const KernelQuery& query,
                                               const KernelCandidate&,
                                               ComputeThreads& threads) {
  return query.inputs[0].dtype == DType::f32
             ? make_forward(query, tables().f32, threads)
             : make_forward(query, tables().f64, threads);
}

Result<std::unique_ptr<Kernel>> create_backward(const KernelQuery& query,
                                                const KernelCandidate&,
                                                ComputeThreads& threads) {
  return query.inputs[0].dtype == DType::f32
             ? make_backward(query, tables().f32, threads)
             : make_backward(query, tables().f64, threads);
}

}  // namespace

std::span<const CpuKernels> softmax_cpu_kernels() {
  static constexpr std::array kernels = {
      CpuKernels{"softmax", candidates, create_forward},
      CpuKernels{"softmax_grad", candidates, create_backward},
  };
  return kernels;
}

}  // namespace plimsoll::ops
