#include "ops/embedding/embedding_cpu.h"

#include <fmt/core.h>

#include <limits>

#include "base/half.h"
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

template <class Index>
class Gather final : public Kernel {
 public:
  Gather(const KernelQuery& query, ComputeThreads& threads)
      : rows_(query.inputs[0].shape.extent(0)),
        width_(query.inputs[0].shape.extent(1)),
        count_(query.inputs[1].shape.elements()),
        dtype_(query.inputs[0].dtype),
        chunks_(movement_chunks(
            2 * static_cast<double>(query.outputs[0].bytes()), threads.size())),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const auto* table = static_cast<const std::byte*>(args.inputs[0]);
    const auto* indices = static_cast<const Index*>(args.inputs[1]);
    auto* out = static_cast<std::byte*>(args.outputs[0]);
    const auto bytes = static_cast<std::size_t>(width_ * size_of(dtype_));
    for_ranges(
        threads_, chunks_, count_, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const auto row = static_cast<std::int64_t>(indices[i]);
            std::byte* const to = out + static_cast<std::size_t>(i) * bytes;
            if (row >= 0 && row < rows_) {
              std::memcpy(to, table + static_cast<std::size_t>(row) * bytes,
                          bytes);
            } else {
              fill_nan(to);
            }
          }
        });
    return LaunchStatus::ok;
  }

 private:
  template <class T>
  void fill(std::byte* to, T value) const {
    std::fill_n(reinterpret_cast<T*>(to), width_, value);
  }

  void fill_nan(std::byte* to) const {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    switch (dtype_) {
      case DType::f64:
        return fill(to, std::numeric_limits<double>::quiet_NaN());
      case DType::bf16:
        return fill(to, float_to_bf16(kNan));
      case DType::f16:
        return fill(to, float_to_f16(kNan));
      default:
        return fill(to, kNan);
    }
  }

  std::int64_t rows_, width_, count_;
  DType dtype_;
  std::int64_t chunks_;
  ComputeThreads& threads_;
};

Candidates gather_candidates(const KernelQuery& query, ComputeThreads&) {
  KernelCandidate candidate;
  candidate.name = "embedding";
  candidate.seconds = seconds_of(query, 0, 1);
  return std::vector{candidate};
}

// The dense gradient: zeros, and the sums where there are any.
template <class T, class Index>
class DenseGradient final : public Kernel {
 public:
  DenseGradient(const SummedRowsShape& shape, const KernelQuery& query,
                ComputeThreads& threads)
      : shape_(shape),
        elements_(query.outputs[0].shape.elements()),
        chunks_(movement_chunks(static_cast<double>(query.outputs[0].bytes()),
                                threads.size())),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    T* const out = static_cast<T*>(args.outputs[0]);
    for_ranges(threads_, chunks_, elements_,
               [&](std::int64_t begin, std::int64_t end) {
                 std::fill(out + begin, out + end, T(0));
               });
    for_summed_rows(shape_, static_cast<const T*>(args.inputs[0]),
                    static_cast<const Index*>(args.inputs[1]), args.scratch,
                    threads_, [&](std::int64_t row, const T* sum) {
                      std::copy_n(sum, shape_.width, out + row * shape_.width);
                    });
    return LaunchStatus::ok;
  }

 private:
  SummedRowsShape shape_;
  std::int64_t elements_, chunks_;
  ComputeThreads& threads_;
};

template <class T, class Index>
class RowsUpdate final : public Kernel {
 public:
  RowsUpdate(const SummedRowsShape& shape, const KernelQuery& query,
             ComputeThreads& threads)
      : shape_(shape),
        indices_(static_cast<int>(query.inputs.size()) - 1),
        settings_(update_settings(dense_rule(query.op->name), *query.attrs,
                                  query.inputs.size() - 1)),
        loop_(update_loop<T>(settings_.rule)),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const auto update = update_arguments<T>(settings_, args);
    // In place, as planned, nothing is copied.
    move_whole(update.parameter, update.new_parameter);
    move_whole(update.first, update.new_first);
    move_whole(update.second, update.new_second);
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
          if (one.first) one.first = one.new_first = update.new_first + at;
          if (one.second) one.second = one.new_second = update.new_second + at;
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
  typename UpdateTable<T>::Loop loop_;
  ComputeThreads& threads_;
};

// Where dy and the indices stand: first and second of the gradient, second and
// last of the updates.
std::optional<SummedRowsShape> shape_of(const KernelQuery& query,
                                        const ComputeThreads& threads) {
  const bool dense = query.op->name == "embedding_grad";
  const graph::TensorType& dy = query.inputs[dense ? 0 : 1];
  if (!is_trainable(dy.dtype)) return std::nullopt;
  return SummedRowsShape::of(dy, query.inputs.back(),
                             query.outputs[0].shape.extent(0), threads.size());
}

Candidates summed_candidates(const KernelQuery& query,
                             ComputeThreads& threads) {
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

Made create_gather(const KernelQuery& query, const KernelCandidate&,
                   ComputeThreads& threads) {
  if (query.inputs[1].dtype == DType::i32) {
    return std::unique_ptr<Kernel>(
        std::make_unique<Gather<std::int32_t>>(query, threads));
  }
  return std::unique_ptr<Kernel>(
      std::make_unique<Gather<std::int64_t>>(query, threads));
}

template <template <class, class> class KernelOf, class T>
std::unique_ptr<Kernel> make(const SummedRowsShape& shape,
                             const KernelQuery& query,
                             ComputeThreads& threads) {
  if (query.inputs.back().dtype == DType::i32) {
    return std::make_unique<KernelOf<T, std::int32_t>>(shape, query, threads);
  }
  return std::make_unique<KernelOf<T, std::int64_t>>(shape, query, threads);
}

template <template <class, class> class KernelOf>
Made create_summed(const KernelQuery& query, const KernelCandidate&,
                   ComputeThreads& threads) {
  const auto shape = shape_of(query, threads);
  if (!shape) return Error{ErrorCode::internal, "no such candidate"};
  return query.outputs[0].dtype == DType::f64
             ? make<KernelOf, double>(*shape, query, threads)
             : make<KernelOf, float>(*shape, query, threads);
}

constexpr CpuKernels kKernels[] = {
    {"embedding", gather_candidates, create_gather},
    {"embedding_grad", summed_candidates, create_summed<DenseGradient>},
    {"sgd_rows", summed_candidates, create_summed<RowsUpdate>},
    {"sgd_momentum_rows", summed_candidates, create_summed<RowsUpdate>},
    {"adam_rows", summed_candidates, create_summed<RowsUpdate>},
    {"adamw_rows", summed_candidates, create_summed<RowsUpdate>}};

}  // namespace

std::span<const CpuKernels> embedding_cpu_kernels() { return kKernels; }

}  // namespace plimsoll::ops
