#include "ops/update/update_cpu.h"

#include <fmt/core.h>

#include "device/cpu/compute_threads.h"
#include "ops/update/flush_tiny.h"
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
        loop_(update_loop<T>(settings.rule.rule)) {}

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
    const FlushTiny flush;
    loop_(update, begin, end);
  }

  std::int64_t edge(std::int64_t index) const {
    if (index == settings_.chunks) return settings_.elements;
    return settings_.elements * index / settings_.chunks / kChunkStep *
           kChunkStep;
  }

  Settings settings_;
  ComputeThreads& threads_;
  typename UpdateTable<T>::Loop loop_;
};

// Chunks touch separate elements: their number changes no result.
Settings settings_of(const KernelQuery& query, int threads) {
  Settings settings;
  settings.rule = update_settings(query.op->name, *query.attrs);
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
  if (query.inputs[1].dtype == DType::f64) {
    return std::unique_ptr<Kernel>(std::make_unique<Accumulate<double>>());
  }
  return std::unique_ptr<Kernel>(std::make_unique<Accumulate<float>>());
}

constexpr CpuKernels kKernels[] = {
    {"sgd", candidates, create},
    {"sgd_momentum", candidates, create},
    {"adam", candidates, create},
    {"adamw", candidates, create},
    {"increment", scalar_candidates, create_scalar},
    {"accumulate", scalar_candidates, create_scalar}};

}  // namespace

std::span<const CpuKernels> update_cpu_kernels() { return kKernels; }

}  // namespace plimsoll::ops
