#include "ops/matmul/narrow_product.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/half.h"
#include "device/cpu/compute_threads.h"
#include "ops/matmul/narrow_loops.h"
#include "ops/matmul/own_product.h"
#include "ops/matmul/own_split.h"
#include "ops/simd/half_loops.h"

namespace plimsoll::ops {
namespace {

// Which side is long, and so which loop runs.
enum class NarrowMode { dots, spread, tall };

constexpr std::int64_t kLong = 2048;  // the least long side
// Of a sum over a long side: each part is summed alone, then all in order.
constexpr std::int64_t kDotPart = 4096;
constexpr std::int64_t kSpreadBlock = 512;
constexpr std::int64_t kTallBlock = 512;
constexpr std::int64_t kMostDepth = 256;     // of tall products
constexpr std::int64_t kMostSums = 1 << 16;  // of parts together
constexpr std::int64_t kPanelFloats = 16384;
constexpr double kBytesPerSecond = 12e9;  // of one core
constexpr double kForkSeconds = 2.5e-6;
constexpr double kWorthForking = 20e-6;

struct NarrowPlan {
  NarrowMode mode = NarrowMode::dots;
  ProductShape shape;
  std::int64_t block = 0;  // of the long side
  std::int64_t blocks = 0;
  std::int64_t chunks = 1;
  // Scratch in floats: of all, then of each chunk.
  std::int64_t shared = 0;
  std::int64_t each = 0;
  double seconds = 0;
};

std::int64_t whole(std::int64_t n, std::int64_t step) {
  return (n + step - 1) / step * step;
}

std::optional<NarrowMode> mode_of(const ProductShape& shape,
                                  ProductTypes types) {
  if (types.operands != DType::bf16 || shape.batch != 1) return std::nullopt;
  if (std::min({shape.m, shape.n, shape.k}) < 1) return std::nullopt;
  const bool plain = !shape.bias && !shape.relu;
  if (shape.n <= kMostNarrow && shape.k >= kLong && shape.a_col == 1 &&
      shape.m * shape.n * (shape.k / kDotPart + 1) <= kMostSums) {
    return NarrowMode::dots;
  }
  if (shape.k <= kMostNarrow && shape.n >= kLong && plain &&
      types.output == DType::bf16) {
    return NarrowMode::spread;
  }
  if (shape.n <= kMostNarrow && shape.m >= kLong && shape.k <= kMostDepth &&
      shape.a_row == 1 && plain && types.output == DType::f32) {
    return NarrowMode::tall;
  }
  return std::nullopt;
}

double one_thread_seconds(const ProductShape& shape, ProductTypes types) {
  const auto size = [](std::int64_t value) {
    return static_cast<double>(value);
  };
  const double bytes =
      2 * size(shape.k) * size(shape.m + shape.n) +
      size(size_of(types.output)) * size(shape.m) * size(shape.n);
  return shape.flops() / own_flops_per_second() + bytes / kBytesPerSecond;
}

std::optional<NarrowPlan> plan_of(const ProductShape& shape, ProductTypes types,
                                  int threads) {
  const auto mode = mode_of(shape, types);
  if (!mode) return std::nullopt;
  const std::int64_t lanes = best_narrow_loops().lanes;
  NarrowPlan plan;
  plan.mode = *mode;
  plan.shape = shape;
  std::int64_t length = 0;
  switch (plan.mode) {
    case NarrowMode::dots:
      length = shape.k;
      plan.block = kDotPart;
      plan.each = shape.n * plan.block;
      break;
    case NarrowMode::spread:
      length = shape.n;
      plan.block = kSpreadBlock;
      plan.each = shape.k * plan.block;
      plan.shared = whole(shape.m * shape.k, 16);
      break;
    case NarrowMode::tall:
      length = shape.m;
      plan.block = std::min(kPanelFloats / shape.k / 64 * 64, kTallBlock);
      plan.each = shape.k * plan.block;
      plan.shared = whole(shape.k * whole(shape.n, lanes), 16);
      break;
  }
  plan.blocks = (length + plan.block - 1) / plan.block;
  if (plan.mode == NarrowMode::dots) {
    plan.shared = whole((plan.blocks + 1) * shape.m * shape.n, 16);
  }
  plan.seconds = one_thread_seconds(shape, types);
  if (threads > 1 && plan.seconds > kWorthForking) {
    plan.chunks = std::min<std::int64_t>(threads, plan.blocks);
    plan.seconds =
        kForkSeconds + plan.seconds / static_cast<double>(plan.chunks);
  }
  return plan;
}

std::string_view name_of(NarrowMode mode) {
  switch (mode) {
    case NarrowMode::dots:
      return "dots";
    case NarrowMode::spread:
      return "spread";
    default:
      return "tall";
  }
}

std::string name_of(const NarrowPlan& plan) {
  return fmt::format("matmul:own:narrow:{}:{}", name_of(plan.mode),
                     best_narrow_loops().level);
}

class NarrowProduct final : public Kernel {
 public:
  NarrowProduct(const NarrowPlan& plan, ProductTypes types,
                ComputeThreads& threads)
      : plan_(plan),
        types_(types),
        loops_(best_narrow_loops()),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    a_ = static_cast<const std::uint16_t*>(args.inputs[0]);
    b_ = static_cast<const std::uint16_t*>(args.inputs[1]);
    out_ = args.outputs[0];
    scratch_ = static_cast<float*>(args.scratch);
    const ProductShape& shape = plan_.shape;
    if (plan_.mode == NarrowMode::spread) {
      loops_.fill_rows({a_, shape.m, shape.a_row, shape.a_col}, shape.k,
                       scratch_);
    } else if (plan_.mode == NarrowMode::tall) {
      loops_.fill_columns({b_, shape.n, shape.b_col, shape.b_row}, shape.k,
                          scratch_);
    }
    auto run = [this](std::int64_t chunk) { run_chunk(chunk); };
    threads_.for_each_chunk(plan_.chunks, run);
    if (plan_.mode == NarrowMode::dots) {
      join(shape.bias ? args.inputs[2] : nullptr);
    }
    return LaunchStatus::ok;
  }

 private:
  void run_chunk(std::int64_t chunk) const {
    const Span some = part_of(plan_.blocks, 1, plan_.chunks, chunk);
    float* own = scratch_ + plan_.shared + chunk * plan_.each;
    for (std::int64_t i = some.begin; i < some.begin + some.size; ++i) {
      run_block(i, own);
    }
  }

  void run_block(std::int64_t index, float* own) const {
    const ProductShape& shape = plan_.shape;
    const std::int64_t first = index * plan_.block;
    const auto count = [&](std::int64_t length) {
      return std::min(plan_.block, length - first);
    };
    switch (plan_.mode) {
      case NarrowMode::dots:
        loops_.stage_dots(
            {b_ + first * shape.b_row, shape.n, shape.b_col, shape.b_row},
            count(shape.k), own, plan_.block);
        loops_.dots(a_ + first, shape.a_row, shape.m, count(shape.k), own,
                    plan_.block, shape.n, scratch_ + index * shape.m * shape.n);
        break;
      case NarrowMode::spread:
        loops_.stage_spread(
            {b_ + first * shape.b_col, shape.k, shape.b_row, shape.b_col},
            count(shape.n), own, plan_.block);
        loops_.spread(scratch_, shape.m, shape.k, own, plan_.block,
                      count(shape.n), static_cast<std::uint16_t*>(out_) + first,
                      shape.n);
        break;
      case NarrowMode::tall:
        loops_.tall(a_ + first, shape.a_col, shape.k, count(shape.m), scratch_,
                    shape.n, own, static_cast<float*>(out_) + first * shape.n);
        break;
    }
  }

  // In the parts' order, whoever made them.
  void join(const void* bias) const {
    const ProductShape& shape = plan_.shape;
    const std::int64_t sums = shape.m * shape.n;
    const bool narrowed = types_.output == DType::bf16;
    float* to =
        narrowed ? scratch_ + plan_.blocks * sums : static_cast<float*>(out_);
    for (std::int64_t i = 0; i < sums; ++i) {
      double total = 0;
      for (std::int64_t part = 0; part < plan_.blocks; ++part) {
        total += static_cast<double>(scratch_[part * sums + i]);
      }
      auto sum = static_cast<float>(total);
      if (bias != nullptr) {
        const std::int64_t j = i % shape.n;
        sum += narrowed
                   ? bf16_to_float(static_cast<const std::uint16_t*>(bias)[j])
                   : static_cast<const float*>(bias)[j];
      }
      to[i] = shape.relu && sum <= 0 ? 0.0f : sum;
    }
    if (narrowed) {
      narrow_loop(DType::bf16)(to, static_cast<std::uint16_t*>(out_), sums);
    }
  }

  const NarrowPlan plan_;
  const ProductTypes types_;
  const NarrowLoops loops_;
  ComputeThreads& threads_;
  const std::uint16_t* a_ = nullptr;
  const std::uint16_t* b_ = nullptr;
  void* out_ = nullptr;
  float* scratch_ = nullptr;
};

}  // namespace

std::vector<graph::KernelCandidate> narrow_candidates(const ProductShape& shape,
                                                      ProductTypes types,
                                                      int threads) {
  const auto plan = plan_of(shape, types, threads);
  if (!plan) return {};
  graph::KernelCandidate candidate;
  candidate.name = name_of(*plan);
  candidate.scratch_bytes = (plan->shared + plan->chunks * plan->each) * 4;
  candidate.seconds = plan->seconds;
  return {candidate};
}

Result<std::unique_ptr<Kernel>> make_narrow_product(
    const ProductShape& shape, ProductTypes types,
    const graph::KernelCandidate& candidate, ComputeThreads& threads) {
  const auto plan = plan_of(shape, types, threads.size());
  const std::string name = plan ? name_of(*plan) : "nothing";
  if (candidate.name != name) {
    return Error{ErrorCode::unsupported,
                 fmt::format("the plan needs {}, this machine has {}",
                             candidate.name, name)};
  }
  return std::unique_ptr<Kernel>(
      std::make_unique<NarrowProduct>(*plan, types, threads));
}

}  // namespace plimsoll::ops
