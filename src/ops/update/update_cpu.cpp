#include "ops/update/update_cpu.h"

#include <fmt/core.h>

#include <algorithm>

#include "device/cpu/compute_threads.h"
#include "ops/update/flush_tiny.h"
#include "ops/update/step_function_cpu.h"
#include "ops/update/update.h"
#include "ops/update/update_rule.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

// Below this one thread is done before a second one has woken.
constexpr std::int64_t kElementsToSplit = 16 * 1024;
constexpr std::int64_t kChunkStep = 64;  // elements: whole cache lines

// Estimates that only inform the plan, measured on Ice Lake at 2.8 GHz.
constexpr double kCallSeconds = 0.1e-6;
constexpr double kForkSeconds = 2.5e-6;
constexpr double kBytesPerSecond = 50e9;  // of one thread, in the outer caches

struct Settings {
  UpdateSettings rule;
  std::int64_t elements = 0;
  std::int64_t chunks = 1;
};

template <class T>
class UpdateKernel final : public Kernel {
 public:
  UpdateKernel(const Settings& settings, ComputeThreads& threads)
      : settings_(settings),
        threads_(threads),
        loop_(update_loop<T>(settings.rule.form.rule)) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const auto update = update_arguments<T>(settings_.rule, args);
    if (settings_.chunks == 1) {
      run(update, 0, settings_.elements);
      return LaunchStatus::ok;
    }
    auto chunk = [&](std::int64_t index) {
      run(update, edge(index), edge(index + 1));
    };
    threads_.for_each_chunk(settings_.chunks, chunk);
    return LaunchStatus::ok;
  }

 private:
  void run(const UpdateArgs<T>& update, std::int64_t begin,
           std::int64_t end) const {
    if (update.gain == T(0)) return keep(update, begin, end);
    const FlushTiny flush;
    loop_(update, begin, end);
  }

  // In place, as planned, nothing is copied.
  void keep(const UpdateArgs<T>& update, std::int64_t begin,
            std::int64_t end) const {
    const auto copy = [&](const T* from, T* to) {
      if (from != to) std::copy(from + begin, from + end, to + begin);
    };
    if (settings_.rule.form.rule == UpdateRule::lamb) {
      std::fill(update.new_parameter + begin, update.new_parameter + end, T(0));
    } else {
      copy(update.parameter, update.new_parameter);
    }
    for (std::size_t k = 0; k < update.states.size(); ++k) {
      copy(update.states[k], update.new_states[k]);
    }
  }

  std::int64_t edge(std::int64_t index) const {
    if (index == settings_.chunks) return settings_.elements;
    return settings_.elements * index / settings_.chunks / kChunkStep *
           kChunkStep;
  }

  Settings settings_;
  ComputeThreads& threads_;
  UpdateLoop<T> loop_;
};

// Chunks touch separate elements: their number changes no result.
Settings settings_of(const KernelQuery& query, int threads) {
  Settings settings;
  settings.rule =
      update_settings(query.op->name, *query.attrs, query.inputs.size());
  settings.elements = query.inputs[0].shape.elements();
  settings.chunks = settings.elements >= kElementsToSplit ? threads : 1;
  return settings;
}

Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads& threads) {
  if (!is_trainable(query.inputs[0].dtype)) {
    return std::vector<KernelCandidate>{};
  }
  const Settings settings = settings_of(query, threads.size());
  const double bytes =
      query.op->cost(query.inputs, query.outputs, *query.attrs).bytes;
  KernelCandidate candidate;
  candidate.name =
      fmt::format("{}:own:{}", query.op->name, name_of(best_isa()));
  candidate.seconds =
      kCallSeconds + (settings.chunks > 1 ? kForkSeconds : 0) +
      bytes / (kBytesPerSecond * static_cast<double>(settings.chunks));
  return std::vector<KernelCandidate>{candidate};
}

Result<std::unique_ptr<Kernel>> create(const KernelQuery& query,
                                       const KernelCandidate&,
                                       ComputeThreads& threads) {
  const Settings settings = settings_of(query, threads.size());
  if (query.inputs[0].dtype == DType::f64) {
    return std::unique_ptr<Kernel>(
        std::make_unique<UpdateKernel<double>>(settings, threads));
  }
  return std::unique_ptr<Kernel>(
      std::make_unique<UpdateKernel<float>>(settings, threads));
}

// Chunks leave a byte each; which of them saw it does not matter.
template <class Bits>
class AllFinite final : public Kernel {
 public:
  AllFinite(const KernelQuery& query, Bits exponent, FiniteLoop<Bits> loop,
            ComputeThreads& threads)
      : elements_(query.inputs[0].shape.elements()),
        chunks_(finite_chunks(query, threads)),
        wide_(query.outputs[0].dtype == DType::f64),
        exponent_(exponent),
        loop_(loop),
        threads_(threads) {}

  static std::int64_t finite_chunks(const KernelQuery& query,
                                    const ComputeThreads& threads) {
    return query.inputs[0].shape.elements() >= 4 * kElementsToSplit
               ? threads.size()
               : 1;
  }

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const Bits* x = static_cast<const Bits*>(args.inputs[0]);
    auto* seen = static_cast<unsigned char*>(args.scratch);
    auto chunk = [&](std::int64_t index) {
      const std::int64_t begin = elements_ * index / chunks_;
      const std::int64_t end = elements_ * (index + 1) / chunks_;
      seen[index] = loop_(x + begin, end - begin, exponent_) ? 1 : 0;
    };
    threads_.for_each_chunk(chunks_, chunk);
    const bool all = std::all_of(seen, seen + chunks_,
                                 [](unsigned char one) { return one != 0; });
    if (wide_) {
      *static_cast<double*>(args.outputs[0]) = all ? 1 : 0;
    } else {
      *static_cast<float*>(args.outputs[0]) = all ? 1.0f : 0.0f;
    }
    return LaunchStatus::ok;
  }

 private:
  std::int64_t elements_;
  std::int64_t chunks_;
  bool wide_;
  Bits exponent_;
  FiniteLoop<Bits> loop_;
  ComputeThreads& threads_;
};

Result<std::vector<KernelCandidate>> finite_candidates(
    const KernelQuery& query, ComputeThreads& threads) {
  KernelCandidate candidate;
  candidate.name =
      fmt::format("{}:own:{}", query.op->name, name_of(best_isa()));
  candidate.scratch_bytes = threads.size();
  candidate.seconds =
      kCallSeconds +
      static_cast<double>(query.inputs[0].bytes()) / kBytesPerSecond;
  return std::vector<KernelCandidate>{candidate};
}

Result<std::unique_ptr<Kernel>> create_finite(const KernelQuery& query,
                                              const KernelCandidate&,
                                              ComputeThreads& threads) {
  const UpdateTables& tables = pick_update_tables();
  std::unique_ptr<Kernel> kernel;
  switch (query.inputs[0].dtype) {
    case DType::f64:
      kernel = std::make_unique<AllFinite<std::uint64_t>>(
          query, 0x7ff0000000000000u, tables.finite_64, threads);
      break;
    case DType::f32:
      kernel = std::make_unique<AllFinite<std::uint32_t>>(
          query, 0x7f800000u, tables.finite_32, threads);
      break;
    default:
      kernel = std::make_unique<AllFinite<std::uint16_t>>(
          query, query.inputs[0].dtype == DType::bf16 ? 0x7f80u : 0x7c00u,
          tables.finite_16, threads);
  }
  return kernel;
}

template <class T>
class ScaleStep final : public Kernel {
 public:
  explicit ScaleStep(std::int64_t growth_steps) : growth_(growth_steps) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const T scale = *static_cast<const T*>(args.inputs[0]);
    const auto good = *static_cast<const std::int64_t*>(args.inputs[1]);
    const auto step = *static_cast<const std::int64_t*>(args.inputs[2]);
    const bool finite = *static_cast<const T*>(args.inputs[3]) != T(0);
    const bool grown = finite && good + 1 >= growth_;
    const T next = finite ? (grown ? scale * 2 : scale) : scale / 2;
    *static_cast<T*>(args.outputs[0]) =
        std::clamp(next, T(kLeastScale), T(kMostScale));
    *static_cast<std::int64_t*>(args.outputs[1]) =
        finite && !grown ? good + 1 : 0;
    *static_cast<std::int64_t*>(args.outputs[2]) = step + (finite ? 1 : 0);
    *static_cast<T*>(args.outputs[3]) = finite ? T(1) / scale : T(0);
    return LaunchStatus::ok;
  }

 private:
  std::int64_t growth_;
};

class Increment final : public Kernel {
 public:
  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    *static_cast<std::int64_t*>(args.outputs[0]) =
        *static_cast<const std::int64_t*>(args.inputs[0]) + 1;
    return LaunchStatus::ok;
  }
};

template <class T>
class Accumulate final : public Kernel {
 public:
  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    *static_cast<double*>(args.outputs[0]) =
        *static_cast<const double*>(args.inputs[0]) +
        static_cast<double>(*static_cast<const T*>(args.inputs[1]));
    return LaunchStatus::ok;
  }
};

Result<std::vector<KernelCandidate>> scalar_candidates(const KernelQuery& query,
                                                       ComputeThreads&) {
  KernelCandidate candidate;
  candidate.name = fmt::format("{}:own", query.op->name);
  candidate.seconds = 5e-9;
  return std::vector<KernelCandidate>{candidate};
}

Result<std::unique_ptr<Kernel>> create_scalar(const KernelQuery& query,
                                              const KernelCandidate&,
                                              ComputeThreads&) {
  if (query.op->name == "increment") {
    return std::unique_ptr<Kernel>(std::make_unique<Increment>());
  }
  if (query.op->name == "scale_step") {
    const auto growth = query.attrs->get<std::int64_t>("growth_steps");
    return query.inputs[0].dtype == DType::f64
               ? std::unique_ptr<Kernel>(
                     std::make_unique<ScaleStep<double>>(growth))
               : std::make_unique<ScaleStep<float>>(growth);
  }
  if (query.inputs[1].dtype == DType::f64) {
    return std::unique_ptr<Kernel>(std::make_unique<Accumulate<double>>());
  }
  return std::unique_ptr<Kernel>(std::make_unique<Accumulate<float>>());
}

std::vector<CpuKernels> collect() {
  std::vector<CpuKernels> kernels = {
      {"increment", scalar_candidates, create_scalar},
      {"accumulate", scalar_candidates, create_scalar},
      {"all_finite", finite_candidates, create_finite},
      {"scale_step", scalar_candidates, create_scalar},
      step_function_cpu_kernel()};
  for (const UpdateForm& form : kUpdateForms) {
    kernels.push_back({form.op, candidates, create});
  }
  return kernels;
}

}  // namespace

std::span<const CpuKernels> update_cpu_kernels() {
  static const std::vector<CpuKernels> kernels = collect();
  return kernels;
}

}  // namespace plimsoll::ops
