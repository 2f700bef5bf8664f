// Layer and rms normalization: each row by itself.
#include <fmt/core.h>

#include "ops/normalization/norm_kernel.h"
#include "ops/normalization/row_norm_loops.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

// An f32 sum of a gradient adds at most this many rows before they go to
// double.
constexpr std::int64_t kBlockRows = 64;

const RowNormTables& tables() {
  static const RowNormTables best = pick_row_norm_tables();
  return best;
}

template <class C>
struct ForwardRoom {
  C* gamma;
  C* beta;
};

template <class C>
ForwardRoom<C> forward_room(Room& room, const NormPlan& plan) {
  return {room.take<C>(plan.shape.channels), room.take<C>(plan.shape.channels)};
}

template <class T>
class RowNormKernel final : public Kernel {
 public:
  RowNormKernel(const NormPlan& plan, ComputeThreads& threads)
      : plan_(plan), threads_(threads) {
    chunk_rows_ =
        std::max<std::int64_t>(1, kNormPartElements / plan.shape.channels);
  }

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    using C = Computed<T>;
    const NormForm& form = plan_.form;
    const std::int64_t n = plan_.shape.channels;
    Room scratch(args.scratch);
    const ForwardRoom<C> room = forward_room<C>(scratch, plan_);
    RowNormForward<T> all;
    all.x = norm_input<T>(args, form.x);
    all.gamma =
        parameter<C>(args, form.gamma, plan_.parameters, n, C(1), room.gamma);
    all.beta =
        parameter<C>(args, form.beta, plan_.parameters, n, C(0), room.beta);
    all.epsilon = plan_.epsilon;
    all.y = norm_output<T>(args, 0);
    all.mean = norm_output<C>(args, form.mean_out);
    all.deviation = norm_output<C>(args, form.deviation_out);
    const std::int64_t rows = plan_.shape.segments;
    auto body = [&](std::int64_t chunk) {
      const std::int64_t first = chunk * chunk_rows_;
      RowNormForward<T> some = all;
      some.x += first * n;
      some.y += first * n;
      if (some.mean != nullptr) some.mean += first;
      some.deviation += first;
      loops_of<T>(tables()).forward(some, std::min(chunk_rows_, rows - first),
                                    n);
    };
    threads_.for_each_chunk((rows + chunk_rows_ - 1) / chunk_rows_, body);
    return LaunchStatus::ok;
  }

 private:
  NormPlan plan_;
  ComputeThreads& threads_;
  std::int64_t chunk_rows_ = 1;
};

std::int64_t parts_of(const NormPlan& plan) {
  return std::clamp<std::int64_t>(
      std::min(plan.shape.elements() / kNormPartElements, plan.shape.segments),
      1, kMostNormParts);
}

// Of dbeta and dgamma: a block's sums and all of a part's.
template <class C>
struct BackwardRoom {
  C* gamma;
  C* blocks;
  double* sums;
};

template <class C>
BackwardRoom<C> backward_room(Room& room, const NormPlan& plan) {
  const std::int64_t n = plan.shape.channels;
  const std::int64_t all = 2 * n * parts_of(plan);
  return {room.take<C>(n), room.take<C>(all), room.take<double>(all)};
}

template <class T>
class RowNormGradKernel final : public Kernel {
  using C = Computed<T>;

 public:
  RowNormGradKernel(const NormPlan& plan, ComputeThreads& threads)
      : plan_(plan), parts_(parts_of(plan)), threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const NormForm& form = plan_.form;
    const std::int64_t n = plan_.shape.channels;
    Room scratch(args.scratch);
    const BackwardRoom<C> room = backward_room<C>(scratch, plan_);
    RowNormBackward<T> all;
    all.dy = norm_input<T>(args, form.dy);
    all.x = norm_input<T>(args, form.x);
    all.gamma =
        parameter<C>(args, form.gamma, plan_.parameters, n, C(1), room.gamma);
    all.mean = norm_input<C>(args, form.mean);
    all.deviation = norm_input<C>(args, form.deviation);
    all.dx = norm_output<T>(args, 0);
    auto body = [&](std::int64_t part) { run_part(all, room, part); };
    threads_.for_each_chunk(parts_, body);
    if (form.dbeta >= 0) {
      join_sums(threads_, room.sums, parts_, 2 * n, n, plan_.parameters,
                args.outputs[form.dbeta]);
    }
    if (form.dgamma >= 0) {
      join_sums(threads_, room.sums + n, parts_, 2 * n, n, plan_.parameters,
                args.outputs[form.dgamma]);
    }
    return LaunchStatus::ok;
  }

 private:
  void run_part(const RowNormBackward<T>& all, const BackwardRoom<C>& room,
                std::int64_t part) const {
    const std::int64_t n = plan_.shape.channels;
    const std::int64_t rows = plan_.shape.segments;
    const std::int64_t end = rows * (part + 1) / parts_;
    C* block = room.blocks + part * 2 * n;
    double* sums = room.sums + part * 2 * n;
    std::fill_n(sums, 2 * n, 0.0);
    for (std::int64_t row = rows * part / parts_; row < end;) {
      const std::int64_t count = std::min(kBlockRows, end - row);
      RowNormBackward<T> some = all;
      some.dy += row * n;
      some.x += row * n;
      some.dx += row * n;
      if (some.mean != nullptr) some.mean += row;
      some.deviation += row;
      some.dbeta = plan_.form.dbeta >= 0 ? block : nullptr;
      some.dgamma = plan_.form.dgamma >= 0 ? block + n : nullptr;
      std::fill_n(block, 2 * n, C(0));
      loops_of<T>(tables()).backward(some, count, n);
      for (std::int64_t i = 0; i < 2 * n; ++i) {
        sums[i] += static_cast<double>(block[i]);
      }
      row += count;
    }
  }

  NormPlan plan_;
  std::int64_t parts_;
  ComputeThreads& threads_;
};

}  // namespace

Result<std::vector<KernelCandidate>> row_norm_candidates(
    const KernelQuery& query, ComputeThreads& threads) {
  const NormPlan plan = norm_plan(query);
  Room room(nullptr);
  plan.dtype == DType::f64 ? void(forward_room<double>(room, plan))
                           : void(forward_room<float>(room, plan));
  return std::vector{norm_candidate(query, "rows/64", room.bytes(), threads)};
}

Result<std::vector<KernelCandidate>> row_norm_grad_candidates(
    const KernelQuery& query, ComputeThreads& threads) {
  const NormPlan plan = norm_plan(query);
  Room room(nullptr);
  plan.dtype == DType::f64 ? void(backward_room<double>(room, plan))
                           : void(backward_room<float>(room, plan));
  return std::vector{
      norm_candidate(query, fmt::format("rows/64,parts={}", parts_of(plan)),
                     room.bytes(), threads)};
}

Result<std::unique_ptr<Kernel>> create_row_norm(const KernelQuery& query,
                                                const KernelCandidate&,
                                                ComputeThreads& threads) {
  const NormPlan plan = norm_plan(query);
  return with_stored(plan.dtype, [&](auto stored) -> std::unique_ptr<Kernel> {
    return std::make_unique<RowNormKernel<decltype(stored)>>(plan, threads);
  });
}

Result<std::unique_ptr<Kernel>> create_row_norm_grad(const KernelQuery& query,
                                                     const KernelCandidate&,
                                                     ComputeThreads& threads) {
  const NormPlan plan = norm_plan(query);
  return with_stored(plan.dtype, [&](auto stored) -> std::unique_ptr<Kernel> {
    return std::make_unique<RowNormGradKernel<decltype(stored)>>(plan, threads);
  });
}

}  // namespace plimsoll::ops
