#include "ops/embedding/embedding_cpu.h"

#include <fmt/core.h>

#include "ops/embedding/summed_rows_cpu.h"
#include "ops/movement/chunked.h"
#include "ops/update/flush_tiny.h"
#include "ops/update/update_rule.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;
using Candidates = Result<std::vector<KernelCandidate>>;
using Made = Result<std::unique_ptr<Kernel>>;

// Estimates that only inform the plan, of one thread.
constexpr double kBytesPerSecond = 4e9;
constexpr double kIndicesPerSecond = 1e8;  // sorted

double seconds_of(const KernelQuery& query, std::int64_t sorted,
                  double chunks) {
  const double bytes =
      query.op->cost(query.inputs, query.outputs, *query.attrs).bytes;
  return 0.1e-6 + bytes / kBytesPerSecond / chunks +
         static_cast<double>(sorted) / kIndicesPerSecond;
}

template <class T, class Index>
class RowsUpdate final : public Kernel {
 public:
  RowsUpdate(const SummedRowsShape& shape, const KernelQuery& query,
             ComputeThreads& threads)
      : shape_(shape),
        indices_(static_cast<int>(query.inputs.size()) - 1),
        settings_(update_settings(query.op->name, *query.attrs,
                                  query.inputs.size() - 1)),
        loop_(update_loop<T>(settings_.form.rule)),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const auto update = update_arguments<T>(settings_, args);
    // In place, as planned, nothing is copied.
    move_whole(update.parameter, update.new_parameter);
    for (std::size_t k = 0; k < update.states.size(); ++k) {
      move_whole(update.states[k], update.new_states[k]);
    }
    if (update.gain == T(0)) return LaunchStatus::ok;
    for_summed_rows(
        shape_, update.gradient,
        static_cast<const Index*>(args.inputs[indices_]), args.scratch,
        threads_, [&](std::int64_t row, const T* sum) {
          const FlushTiny flush;
          UpdateArgs<T> one = update;
          const std::int64_t at = row * shape_.width;
          one.gradient = sum;
          one.parameter = one.new_parameter = update.new_parameter + at;
          for (std::size_t k = 0; k < one.states.size(); ++k) {
            if (one.states[k] == nullptr) break;
            one.states[k] = one.new_states[k] = update.new_states[k] + at;
          }
          loop_(one, 0, shape_.width);
        });
    return LaunchStatus::ok;
  }

 private:
  void move_whole(const T* from, T* to) const {
    if (from == to) return;
    std::copy_n(from, shape_.keys.rows * shape_.width, to);
  }

  SummedRowsShape shape_;
  int indices_;
  UpdateSettings settings_;
  UpdateLoop<T> loop_;
  ComputeThreads& threads_;
};

// dy is the second input, the indices are the last.
std::optional<SummedRowsShape> shape_of(const KernelQuery& query,
                                        const ComputeThreads& threads) {
  const graph::TensorType& dy = query.inputs[1];
  if (!is_trainable(dy.dtype)) return std::nullopt;
  return SummedRowsShape::of(dy, query.inputs.back(),
                             query.outputs[0].shape.extent(0), threads.size());
}

Candidates candidates(const KernelQuery& query, ComputeThreads& threads) {
  const auto shape = shape_of(query, threads);
  if (!shape) return std::vector<KernelCandidate>{};
  KernelCandidate candidate;
  candidate.name =
      fmt::format("{}:own:{}", query.op->name, name_of(best_isa()));
  candidate.scratch_bytes = shape->scratch_bytes();
  candidate.seconds =
      seconds_of(query, shape->keys.count, static_cast<double>(shape->chunks));
  return std::vector{candidate};
}

template <class T>
std::unique_ptr<Kernel> make(const SummedRowsShape& shape,
                             const KernelQuery& query,
                             ComputeThreads& threads) {
  if (query.inputs.back().dtype == DType::i32) {
    return std::make_unique<RowsUpdate<T, std::int32_t>>(shape, query, threads);
  }
  return std::make_unique<RowsUpdate<T, std::int64_t>>(shape, query, threads);
}

Made create(const KernelQuery& query, const KernelCandidate&,
            ComputeThreads& threads) {
  const auto shape = shape_of(query, threads);
  if (!shape) return Error{ErrorCode::internal, "no such candidate"};
  return query.outputs[0].dtype == DType::f64
             ? make<double>(*shape, query, threads)
             : make<float>(*shape, query, threads);
}

std::vector<CpuKernels> collect() {
  std::vector<CpuKernels> kernels;
  for (const UpdateForm& form : kUpdateForms) {
    if (form.rows_op.empty()) continue;
    kernels.push_back({form.rows_op, candidates, create});
  }
  return kernels;
}

}  // namespace

std::span<const CpuKernels> embedding_cpu_kernels() {
  static const std::vector<CpuKernels> kernels = collect();
  return kernels;
}

}  // namespace plimsoll::ops
