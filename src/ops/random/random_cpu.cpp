#include "ops/random/random_cpu.h"

#include <algorithm>
#include <array>

#include "device/cpu/compute_threads.h"
#include "ops/random/dropout_mask.h"
#include "ops/random/random_loops.h"
#include "ops/simd/half_loops.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

constexpr std::int64_t kChunkElements = 16384;  // a multiple of the groups
constexpr double kElementsPerSecond = 1e9;

const RandomTables& tables() {
  static const RandomTables best = pick_random_tables();
  return best;
}

// Of bf16 and f16 blocks are widened and narrowed again.
struct HalfDropout {
  DropoutLoop<float> loop = nullptr;
  WidenLoop widen = nullptr;
  NarrowLoop narrow = nullptr;

  void operator()(const std::uint16_t* x, std::int64_t first, std::int64_t n,
                  const DropoutMask& mask, float scale,
                  std::uint16_t* y) const {
    constexpr std::int64_t kBlock = 1024;  // a multiple of the groups
    float wide[kBlock];
    for (std::int64_t i = 0; i < n; i += kBlock) {
      const std::int64_t count = std::min(kBlock, n - i);
      widen(x + i, wide, count);
      loop(wide, first + i, count, mask, scale, wide);
      narrow(wide, y + i, count);
    }
  }
};

// `T` is stored, `Scale` computed in.
template <class T, class Scale, class Loop>
class DropoutKernel final : public Kernel {
 public:
  DropoutKernel(const KernelQuery& query, const Loop& loop,
                ComputeThreads& threads)
      : elements_(query.inputs[0].shape.elements()),
        loop_(loop),
        threads_(threads) {
    const double rate = query.attrs->get<double>("rate");
    const auto attr = [&](const char* name) {
      return static_cast<std::uint64_t>(query.attrs->get<std::int64_t>(name));
    };
    key_ = random_key(attr("seed"), attr("op_id"));
    threshold_ = dropout_threshold(rate);
    scale_ = static_cast<Scale>(1 / (1 - rate));
  }

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const T* x = static_cast<const T*>(args.inputs[0]);
    T* y = static_cast<T*>(args.outputs[0]);
    const auto step = static_cast<std::uint64_t>(
        *static_cast<const std::int64_t*>(args.inputs[1]));
    const DropoutMask mask{key_, step, threshold_};
    auto body = [&](std::int64_t chunk) {
      const std::int64_t first = chunk * kChunkElements;
      loop_(x + first, first, std::min(kChunkElements, elements_ - first), mask,
            scale_, y + first);
    };
    threads_.for_each_chunk((elements_ + kChunkElements - 1) / kChunkElements,
                            body);
    return LaunchStatus::ok;
  }

 private:
  std::int64_t elements_;
  Loop loop_;
  ComputeThreads& threads_;
  std::uint64_t key_ = 0;
  std::uint32_t threshold_ = 0;
  Scale scale_ = 1;
};

Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads&) {
  if (!is_floating(query.inputs[0].dtype)) {
    return std::vector<KernelCandidate>{};
  }
  KernelCandidate candidate;
  candidate.name = "philox4x32";
  candidate.seconds =
      1e-7 + static_cast<double>(query.inputs[0].shape.elements()) /
                 kElementsPerSecond;
  return std::vector{candidate};
}

Result<std::unique_ptr<Kernel>> create(const KernelQuery& query,
                                       const KernelCandidate&,
                                       ComputeThreads& threads) {
  const DType dtype = query.inputs[0].dtype;
  std::unique_ptr<Kernel> kernel;
  if (is_half(dtype)) {
    const HalfDropout loop{tables().dropout_f32, widen_loop(dtype),
                           narrow_loop(dtype)};
    kernel = std::make_unique<DropoutKernel<std::uint16_t, float, HalfDropout>>(
        query, loop, threads);
  } else if (dtype == DType::f32) {
    kernel = std::make_unique<DropoutKernel<float, float, DropoutLoop<float>>>(
        query, tables().dropout_f32, threads);
  } else {
    kernel =
        std::make_unique<DropoutKernel<double, double, DropoutLoop<double>>>(
            query, tables().dropout_f64, threads);
  }
  return kernel;
}

}  // namespace

std::span<const CpuKernels> random_cpu_kernels() {
  static const std::array kernels = {CpuKernels{"dropout", candidates, create},
                                     random_uniform_cpu(), random_normal_cpu()};
  return kernels;
}

}  // namespace plimsoll::ops
