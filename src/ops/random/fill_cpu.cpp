// random_uniform and random_normal.
#include <algorithm>

#include "device/cpu/compute_threads.h"
#include "ops/random/fill_loops.h"
#include "ops/random/random_cpu.h"
#include "ops/random/random_form.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

constexpr std::int64_t kChunkElements = 16384;  // a multiple of the groups

const FillTables& tables() {
  static const FillTables best = pick_fill_tables();
  return best;
}

template <class T>
class FillKernel final : public Kernel {
 public:
  FillKernel(const KernelQuery& query, bool normal, ComputeThreads& threads)
      : elements_(query.outputs[0].shape.elements()),
        normal_(normal),
        threads_(threads) {
    const RandomForm form = random_form(*query.attrs, normal);
    fill_ = {form.key, form.lower_key, 0, form.low, form.span, form.high};
  }

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    T* const out = static_cast<T*>(args.outputs[0]);
    RandomFill fill = fill_;
    fill.step = static_cast<std::uint64_t>(
        *static_cast<const std::int64_t*>(args.inputs[0]));
    const FillLoops<T>& loops = loops_of<T>(tables());
    const auto loop = normal_ ? loops.normal : loops.uniform;
    auto body = [&](std::int64_t chunk) {
      const std::int64_t first = chunk * kChunkElements;
      loop(fill, first, std::min(kChunkElements, elements_ - first),
           out + first);
    };
    threads_.for_each_chunk((elements_ + kChunkElements - 1) / kChunkElements,
                            body);
    return LaunchStatus::ok;
  }

 private:
  std::int64_t elements_;
  bool normal_;
  RandomFill fill_;
  ComputeThreads& threads_;
};

template <bool normal>
Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads& threads) {
  constexpr double kElementsPerSecond = normal ? 3e8 : 1e9;
  KernelCandidate candidate;
  candidate.name = "philox4x32";
  candidate.private_bytes = 512;
  const auto elements = static_cast<double>(query.outputs[0].shape.elements());
  const double sharing =
      std::clamp(elements / kChunkElements, 1.0, double(threads.size()));
  candidate.seconds = 1e-7 + elements / kElementsPerSecond / sharing;
  return std::vector{candidate};
}

template <bool normal>
Result<std::unique_ptr<Kernel>> create(const KernelQuery& query,
                                       const KernelCandidate&,
                                       ComputeThreads& threads) {
  return with_stored(query.outputs[0].dtype,
                     [&](auto stored) -> std::unique_ptr<Kernel> {
                       return std::make_unique<FillKernel<decltype(stored)>>(
                           query, normal, threads);
                     });
}

}  // namespace

CpuKernels random_uniform_cpu() {
  return {"random_uniform", candidates<false>, create<false>};
}

CpuKernels random_normal_cpu() {
  return {"random_normal", candidates<true>, create<true>};
}

}  // namespace plimsoll::ops
