#include "ops/loss/loss_cpu.h"

#include <array>

#include "ops/loss/loss_loops.h"
#include "ops/softmax/row_kernel.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

const LossTables& tables() {
  static const LossTables best = pick_loss_tables();
  return best;
}

template <class T>
const LossLoops<T>& loops() {
  if constexpr (std::is_same_v<T, float>) {
    return tables().f32;
  } else {
    return tables().f64;
  }
}

// `kScores` is the input that has the rows.
template <int kScores>
Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads&) {
  if (!is_trainable(query.inputs[kScores].dtype)) {
    return std::vector<KernelCandidate>{};
  }
  return std::vector{row_candidate(query, "rows/16", 1e10)};
}

template <class T, class Label>
std::unique_ptr<Kernel> make_loss(const KernelQuery& query,
                                  void (*loop)(const T*, const Label*,
                                               std::int64_t, std::int64_t, T*),
                                  std::int64_t labels_per_row,
                                  ComputeThreads& threads) {
  const auto run = [=](const LaunchArgs& args, std::int64_t first,
                       std::int64_t rows, std::int64_t n) {
    loop(input<T>(args, 0, first * n),
         input<Label>(args, 1, first * labels_per_row), rows, n,
         output<T>(args, first));
  };
  return make_row_kernel(row_shape(query.inputs[0].shape), run, threads);
}

template <class T, class Label>
std::unique_ptr<Kernel> make_grad(const KernelQuery& query,
                                  void (*loop)(const T*, const T*, const Label*,
                                               std::int64_t, std::int64_t, T*),
                                  std::int64_t labels_per_row,
                                  ComputeThreads& threads) {
  const auto run = [=](const LaunchArgs& args, std::int64_t first,
                       std::int64_t rows, std::int64_t n) {
    loop(input<T>(args, 0, first), input<T>(args, 1, first * n),
         input<Label>(args, 2, first * labels_per_row), rows, n,
         output<T>(args, first * n));
  };
  return make_row_kernel(row_shape(query.inputs[1].shape), run, threads);
}

// The first of the largest; a NaN is never larger.
template <class T>
std::int64_t first_largest(const T* x, std::int64_t n) {
  std::int64_t best = 0;
  for (std::int64_t j = 1; j < n; ++j) {
    if (x[j] > x[best]) best = j;
  }
  return best;
}

template <class T>
std::unique_ptr<Kernel> make_argmax_equals(const KernelQuery& query,
                                           ComputeThreads& threads) {
  const bool sparse = query.inputs[1].dtype == DType::i32;
  const auto run = [sparse](const LaunchArgs& args, std::int64_t first,
                            std::int64_t rows, std::int64_t n) {
    for (std::int64_t row = first; row < first + rows; ++row) {
      const std::int64_t label =
          sparse ? *input<std::int32_t>(args, 1, row)
                 : first_largest(input<T>(args, 1, row * n), n);
      *output<float>(args, row) =
          first_largest(input<T>(args, 0, row * n), n) == label ? 1.0f : 0.0f;
    }
  };
  return make_row_kernel(row_shape(query.inputs[0].shape), run, threads);
}

using Made = Result<std::unique_ptr<Kernel>>;

template <class T>
std::unique_ptr<Kernel> make(const KernelQuery& query,
                             ComputeThreads& threads) {
  const std::string_view op = query.op->name;
  const auto& table = loops<T>();
  if (op == "argmax_equals") return make_argmax_equals<T>(query, threads);
  if (op == "sparse_softmax_cross_entropy") {
    return make_loss(query, table.sparse, 1, threads);
  }
  if (op == "sparse_softmax_cross_entropy_grad") {
    return make_grad(query, table.sparse_grad, 1, threads);
  }
  if (op == "softmax_cross_entropy") {
    return make_loss(query, table.dense, query.inputs[0].shape.extent(-1),
                     threads);
  }
  return make_grad(query, table.dense_grad, query.inputs[1].shape.extent(-1),
                   threads);
}

template <int kScores>
Made create(const KernelQuery& query, const KernelCandidate&,
            ComputeThreads& threads) {
  return query.inputs[kScores].dtype == DType::f32
             ? make<float>(query, threads)
             : make<double>(query, threads);
}

}  // namespace

std::span<const CpuKernels> loss_cpu_kernels() {
  static constexpr std::array kernels = {
      CpuKernels{"softmax_cross_entropy", candidates<0>, create<0>},
      CpuKernels{"softmax_cross_entropy_grad", candidates<1>, create<1>},
      CpuKernels{"sparse_softmax_cross_entropy", candidates<0>, create<0>},
      CpuKernels{"sparse_softmax_cross_entropy_grad", candidates<1>, create<1>},
      CpuKernels{"argmax_equals", candidates<0>, create<0>},
  };
  return kernels;
}

}  // namespace plimsoll::ops
