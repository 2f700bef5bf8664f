#include "ops/reduction/reduction_cpu.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "device/cpu/compute_threads.h"
#include "ops/reduction/reduction_axes.h"
#include "ops/reduction/reduction_halves.h"
#include "ops/reduction/reduction_loops.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;
using Axes = std::vector<std::int64_t>;

// Below this many elements a chunk costs more to hand over than to run.
constexpr std::int64_t kChunkElements = 32768;
constexpr double kBytesPerSecond = 1e10;
constexpr double kLaunchSeconds = 1e-7;

const ReductionTables& tables() {
  static const ReductionTables best = pick_reduction_tables();
  return best;
}

// y[i] = x[i] / divisor as f32, f64, or what `narrow` makes of f32.
template <class Out>
struct Divider {
  double divisor = 1;
  NarrowLoop narrow = nullptr;

  void operator()(const double* x, std::int64_t n, Out* y) const {
    if constexpr (std::is_same_v<Out, float>) {
      tables().divide_f32(x, n, divisor, y);
    } else if constexpr (std::is_same_v<Out, double>) {
      tables().divide_f64(x, n, divisor, y);
    } else {
      constexpr std::int64_t kBlock = 1024;
      float wide[kBlock];
      for (std::int64_t i = 0; i < n; i += kBlock) {
        const std::int64_t count = std::min(kBlock, n - i);
        tables().divide_f32(x + i, count, divisor, wide);
        narrow(wide, y + i, count);
      }
    }
  }
};

// `Loops`: ReductionLoops<T>, or HalfReduction for two bytes.
template <class T, class Out, class Loops>
class ReductionKernel final : public Kernel {
 public:
  ReductionKernel(ReductionSplit split, const Loops& loops,
                  const Divider<Out>& divide, ComputeThreads& threads)
      : split_(std::move(split)),
        loops_(loops),
        divide_(divide),
        threads_(threads) {
    const std::int64_t task_elements =
        std::max<std::int64_t>(1, split_.count() / split_.parts * split_.tile);
    chunk_tasks_ = std::max<std::int64_t>(1, kChunkElements / task_elements);
    const bool one_block = split_.kept.size() <= 1 && split_.repeats == 1 &&
                           split_.parts == 1 && split_.inner == 1;
    short_rows_ =
        one_block && split_.reduce < kShortRow &&
        (split_.kept.empty() || split_.kept[0].stride == split_.reduce);
  }

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const T* x = static_cast<const T*>(args.inputs[0]);
    Out* y = static_cast<Out*>(args.outputs[0]);
    double* partial = static_cast<double*>(args.scratch);
    const std::int64_t tasks = split_.tasks();
    auto body = [&](std::int64_t chunk) {
      const std::int64_t end = std::min(tasks, (chunk + 1) * chunk_tasks_);
      if (short_rows_) return run_short_rows(chunk * chunk_tasks_, end, x, y);
      for (std::int64_t task = chunk * chunk_tasks_; task < end; ++task) {
        run_task(task, x, y, partial);
      }
    };
    threads_.for_each_chunk((tasks + chunk_tasks_ - 1) / chunk_tasks_, body);
    if (split_.parts > 1) join_parts(partial, y);
    return LaunchStatus::ok;
  }

 private:
  void run_task(std::int64_t task, const T* x, Out* y, double* partial) const {
    const std::int64_t part = task % split_.parts;
    const std::int64_t tile = task / split_.parts % split_.tiles();
    const std::int64_t outer = task / split_.parts / split_.tiles();
    const std::int64_t from = part * split_.part_size();
    const std::int64_t rows =
        std::min(split_.reduce, from + split_.part_size()) - from;
    const std::int64_t first = tile * split_.tile;
    const std::int64_t width = std::min(split_.tile, split_.inner - first);
    const T* base =
        x + offset_of(split_.kept, outer) + from * split_.inner + first;

    double sums[kReductionTile];
    std::fill_n(sums, width, loops_.identity);
    for (std::int64_t i = 0; i < split_.repeats; ++i) {
      const T* at = base + offset_of(split_.reduced, i);
      if (split_.inner == 1) {
        loops_.row(at, rows, sums);
      } else {
        loops_.columns(at, rows, split_.inner, width, sums);
      }
    }
    const std::int64_t place = outer * split_.inner + first;
    if (split_.parts == 1) {
      divide_(sums, width, y + place);
    } else {
      std::copy_n(sums, width,
                  partial + part * split_.outer * split_.inner + place);
    }
  }

  void run_short_rows(std::int64_t first, std::int64_t end, const T* x,
                      Out* y) const {
    double sums[kReductionTile];
    while (first < end) {
      const std::int64_t rows = std::min(kReductionTile, end - first);
      std::fill_n(sums, rows, loops_.identity);
      loops_.short_rows(x + first * split_.reduce, rows, split_.reduce, sums);
      divide_(sums, rows, y + first);
      first += rows;
    }
  }

  // In the parts' order, whoever made them.
  void join_parts(double* partial, Out* y) const {
    const std::int64_t n = split_.outer * split_.inner;
    for (std::int64_t part = 1; part < split_.parts; ++part) {
      const double* next = partial + part * n;
      for (std::int64_t i = 0; i < n; ++i) {
        const bool larger = next[i] > partial[i] || next[i] != next[i];
        if (loops_.identity == 0) {
          partial[i] += next[i];
        } else if (larger) {
          partial[i] = next[i];
        }
      }
    }
    divide_(partial, n, y);
  }

  ReductionSplit split_;
  Loops loops_;
  Divider<Out> divide_;
  ComputeThreads& threads_;
  std::int64_t chunk_tasks_ = 1;
  bool short_rows_ = false;  // contiguous and too short for lanes
};

// y = x / n with n known from the shape.
template <class T>
class DivideKernel final : public Kernel {
 public:
  DivideKernel(std::int64_t elements, double divisor)
      : elements_(elements), divisor_(divisor) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const T* x = static_cast<const T*>(args.inputs[0]);
    T* y = static_cast<T*>(args.outputs[0]);
    if constexpr (std::is_same_v<T, float>) {
      tables().scale_f32(x, elements_, divisor_, y);
    } else {
      tables().divide_f64(x, elements_, divisor_, y);
    }
    return LaunchStatus::ok;
  }

 private:
  std::int64_t elements_;
  double divisor_;
};

double seconds_of(const KernelQuery& query) {
  return kLaunchSeconds + static_cast<double>(query.inputs[0].bytes() +
                                              query.outputs[0].bytes()) /
                              kBytesPerSecond;
}

// y = x / n of bf16 and f16.
class HalfDivideKernel final : public Kernel {
 public:
  HalfDivideKernel(std::int64_t elements, double divisor, DType dtype)
      : elements_(elements),
        divisor_(divisor),
        widen_(widen_loop(dtype)),
        narrow_(narrow_loop(dtype)) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const auto* x = static_cast<const std::uint16_t*>(args.inputs[0]);
    auto* y = static_cast<std::uint16_t*>(args.outputs[0]);
    constexpr std::int64_t kBlock = 1024;
    float wide[kBlock];
    for (std::int64_t i = 0; i < elements_; i += kBlock) {
      const std::int64_t count = std::min(kBlock, elements_ - i);
      widen_(x + i, wide, count);
      tables().scale_f32(wide, count, divisor_, wide);
      narrow_(wide, y + i, count);
    }
    return LaunchStatus::ok;
  }

 private:
  std::int64_t elements_;
  double divisor_;
  WidenLoop widen_;
  NarrowLoop narrow_;
};

Result<std::vector<KernelCandidate>> reduction_candidates(
    const KernelQuery& query, ComputeThreads&) {
  if (!is_floating(query.inputs[0].dtype)) {
    return std::vector<KernelCandidate>{};
  }
  const Shape& shape = query.inputs[0].shape;
  PLIMSOLL_ASSIGN(const auto axes,
                  reduced_axes(shape, query.attrs->get<Axes>("axes")));
  const ReductionSplit split = split_reduction(shape, axes);
  KernelCandidate candidate;
  candidate.name = fmt::format(
      "{}/wide,parts={}", split.inner == 1 ? "rows" : "columns", split.parts);
  candidate.scratch_bytes = split.scratch_bytes();
  candidate.seconds = seconds_of(query);
  return std::vector{candidate};
}

template <class T, class Out, class Loops>
std::unique_ptr<Kernel> make_reduction(const KernelQuery& query,
                                       const std::vector<int>& axes,
                                       const Loops& loops,
                                       ComputeThreads& threads) {
  const Shape& shape = query.inputs[0].shape;
  const bool mean = query.op->name == "reduce_mean";
  const DType out = query.outputs[0].dtype;
  return std::make_unique<ReductionKernel<T, Out, Loops>>(
      split_reduction(shape, axes), loops,
      Divider<Out>{mean ? static_cast<double>(reduced_count(shape, axes)) : 1.0,
                   is_half(out) ? narrow_loop(out) : nullptr},
      threads);
}

Result<std::unique_ptr<Kernel>> create_reduction(const KernelQuery& query,
                                                 const KernelCandidate&,
                                                 ComputeThreads& threads) {
  PLIMSOLL_ASSIGN(
      const auto axes,
      reduced_axes(query.inputs[0].shape, query.attrs->get<Axes>("axes")));
  const bool max = query.op->name == "reduce_max";
  const ReductionLoops<float>& f32 = max ? tables().max_f32 : tables().sum_f32;
  const DType dtype = query.inputs[0].dtype;
  if (dtype == DType::f64) {
    return make_reduction<double, double>(
        query, axes, max ? tables().max_f64 : tables().sum_f64, threads);
  }
  if (dtype == DType::f32) {
    return make_reduction<float, float>(query, axes, f32, threads);
  }
  const bool as_stored = dtype == DType::bf16 && !max;
  const HalfReduction half{f32, widen_loop(dtype), f32.identity,
                           as_stored ? tables().sum_columns_bf16 : nullptr};
  return query.outputs[0].dtype == DType::f32
             ? make_reduction<std::uint16_t, float>(query, axes, half, threads)
             : make_reduction<std::uint16_t, std::uint16_t>(query, axes, half,
                                                            threads);
}

Result<std::vector<KernelCandidate>> divide_candidates(const KernelQuery& query,
                                                       ComputeThreads&) {
  if (!is_floating(query.inputs[0].dtype)) {
    return std::vector<KernelCandidate>{};
  }
  KernelCandidate candidate;
  candidate.name = "divide";
  candidate.seconds = seconds_of(query);
  return std::vector{candidate};
}

Result<std::unique_ptr<Kernel>> create_divide(const KernelQuery& query,
                                              const KernelCandidate&,
                                              ComputeThreads&) {
  const Shape shape = query.attrs->get<Shape>("shape");
  PLIMSOLL_ASSIGN(const auto axes,
                  reduced_axes(shape, query.attrs->get<Axes>("axes")));
  const std::int64_t elements = query.inputs[0].shape.elements();
  const auto count = static_cast<double>(reduced_count(shape, axes));
  std::unique_ptr<Kernel> kernel;
  const DType dtype = query.inputs[0].dtype;
  if (is_half(dtype)) {
    kernel = std::make_unique<HalfDivideKernel>(elements, count, dtype);
  } else if (dtype == DType::f32) {
    kernel = std::make_unique<DivideKernel<float>>(elements, count);
  } else {
    kernel = std::make_unique<DivideKernel<double>>(elements, count);
  }
  return kernel;
}

}  // namespace

std::span<const CpuKernels> reduction_cpu_kernels() {
  static constexpr std::array kernels = {
      CpuKernels{"reduce_sum", reduction_candidates, create_reduction},
      CpuKernels{"reduce_mean", reduction_candidates, create_reduction},
      CpuKernels{"reduce_max", reduction_candidates, create_reduction},
      CpuKernels{"divide_by_count", divide_candidates, create_divide},
  };
  return kernels;
}

}  // namespace plimsoll::ops
