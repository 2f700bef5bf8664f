// The gradients of group and batch normalization.
#include <fmt/core.h>

#include <cmath>

#include "ops/normalization/channel_norm_cpu.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

template <class C>
struct BackwardRoom {
  C* gamma;
  C* factors;      // four a channel and owner
  double* sums;    // dy and dy * (x - mean): two a channel and slot
  double* totals;  // dbeta and dgamma: two a channel and owner
};

template <class C>
BackwardRoom<C> room_of(Room& room, const ChannelSplit& split) {
  const std::int64_t channels = split.shape.channels;
  return {room.take<C>(channels), room.take<C>(4 * channels * split.owners),
          room.take<double>(2 * channels * split.slots()),
          room.take<double>(2 * channels * split.owners)};
}

template <class T>
class ChannelNormGradKernel final : public Kernel {
  using C = Computed<T>;

 public:
  ChannelNormGradKernel(const NormPlan& plan, ComputeThreads& threads)
      : plan_(plan), split_(channel_split(plan)), threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const NormForm& form = plan_.form;
    const std::int64_t channels = split_.shape.channels;
    Room scratch(args.scratch);
    Launch run{args, room_of<C>(scratch, split_)};
    run.gamma = parameter<C>(args, form.gamma, plan_.parameters, channels, C(1),
                             run.room.gamma);
    run.mean = norm_input<C>(args, form.mean);
    run.deviation = norm_input<C>(args, form.deviation);
    std::fill_n(run.room.sums, 2 * channels * split_.slots(), 0.0);
    std::fill_n(run.room.totals, 2 * channels * split_.owners, 0.0);
    if (split_.whole_segments()) {
      auto task = [&](std::int64_t owner) {
        const std::int64_t end = split_.first_segment(owner + 1);
        for (auto s = split_.first_segment(owner); s < end; ++s) {
          set_shift(run, s, owner);
          std::fill_n(sums_at(run, owner), 2 * channels, 0.0);
          measure(run, s, 0, owner, owner);
          finish(run, s, owner);
          write(run, s, 0, owner);
        }
      };
      threads_.for_each_chunk(split_.owners, task);
    } else {
      launch_parts(run);
    }
    join_sums(threads_, run.room.totals, split_.owners, 2 * channels, channels,
              plan_.parameters,
              form.dbeta >= 0 ? args.outputs[form.dbeta] : nullptr);
    join_sums(threads_, run.room.totals + channels, split_.owners, 2 * channels,
              channels, plan_.parameters,
              form.dgamma >= 0 ? args.outputs[form.dgamma] : nullptr);
    return LaunchStatus::ok;
  }

 private:
  struct Launch {
    const LaunchArgs& args;
    BackwardRoom<C> room;
    const C* gamma = nullptr;
    const C* mean = nullptr;
    const C* deviation = nullptr;
  };

  double* sums_at(const Launch& run, std::int64_t slot) const {
    return run.room.sums + slot * 2 * split_.shape.channels;
  }
  ChannelFactors<C> factors_at(const Launch& run, std::int64_t owner) const {
    const std::int64_t channels = split_.shape.channels;
    C* shift = run.room.factors + owner * 4 * channels;
    return {shift, shift + channels, shift + 2 * channels,
            shift + 3 * channels};
  }

  // A group's mean, for each of its channels.
  void set_shift(const Launch& run, std::int64_t segment,
                 std::int64_t owner) const {
    const NormShape& shape = split_.shape;
    C* shift = factors_at(run, owner).shift;
    for (std::int64_t group = 0; group < shape.groups; ++group) {
      std::fill_n(shift + group * shape.width(), shape.width(),
                  run.mean[segment * shape.groups + group]);
    }
  }

  void measure(const Launch& run, std::int64_t segment, std::int64_t part,
               std::int64_t slot, std::int64_t owner) const {
    const std::int64_t offset = split_.offset(segment, part);
    double* sums = sums_at(run, slot);
    loops_of<T>(channel_norm_loops())
        .gradient_sums(norm_input<T>(run.args, plan_.form.dy) + offset,
                       norm_input<T>(run.args, plan_.form.x) + offset,
                       split_.part_rows(part), split_.shape.channels,
                       factors_at(run, owner).shift, sums,
                       sums + split_.shape.channels);
  }

  double deviation_of(const Launch& run, std::int64_t at) const {
    const auto given = static_cast<double>(run.deviation[at]);
    if (plan_.form.kind != NormKind::inference) return given;
    return 1 / std::sqrt(given + plan_.epsilon);
  }

  // A segment's sums become factors of dx, and are added to the totals.
  void finish(const Launch& run, std::int64_t segment,
              std::int64_t owner) const {
    const NormShape& shape = split_.shape;
    const std::int64_t channels = shape.channels;
    const double* sum =
        sums_at(run, split_.whole_segments() ? owner : owner * split_.parts);
    const double* dot = sum + channels;
    double* totals = run.room.totals + owner * 2 * channels;
    const ChannelFactors<C> factors = factors_at(run, owner);
    const auto count = static_cast<double>(shape.count());
    for (std::int64_t group = 0; group < shape.groups; ++group) {
      const std::int64_t first = group * shape.width();
      const std::int64_t end = first + shape.width();
      const double deviation =
          deviation_of(run, segment * shape.groups + group);
      double level = 0;
      double slope = 0;
      for (std::int64_t c = first; c < end; ++c) {
        totals[c] += sum[c];
        totals[channels + c] += dot[c] * deviation;
        level += sum[c] * static_cast<double>(run.gamma[c]);
        slope += dot[c] * static_cast<double>(run.gamma[c]);
      }
      const bool given = plan_.form.kind == NormKind::inference;
      const auto offset =
          static_cast<C>(given ? 0 : -deviation * level / count);
      const auto step = static_cast<C>(
          given ? 0 : -deviation * deviation * deviation * slope / count);
      for (std::int64_t c = first; c < end; ++c) {
        factors.scale[c] =
            static_cast<C>(deviation * static_cast<double>(run.gamma[c]));
        factors.slope[c] = step;
        factors.offset[c] = offset;
      }
    }
    // What is given has no part in dx = dy * scale.
    if (plan_.form.kind == NormKind::inference) {
      std::fill_n(factors.shift, channels, C(0));
    }
  }

  void write(const Launch& run, std::int64_t segment, std::int64_t part,
             std::int64_t owner) const {
    const std::int64_t offset = split_.offset(segment, part);
    const std::int64_t rows = split_.part_rows(part);
    const T* dy = norm_input<T>(run.args, plan_.form.dy) + offset;
    T* dx = norm_output<T>(run.args, 0) + offset;
    const ChannelFactors<C> factors = factors_at(run, owner);
    const auto& loops = loops_of<T>(channel_norm_loops());
    if (plan_.form.kind == NormKind::inference) {
      return loops.normalize(dy, rows, split_.shape.channels, factors, dx);
    }
    loops.input_gradient(dy, norm_input<T>(run.args, plan_.form.x) + offset,
                         rows, split_.shape.channels, factors, dx);
  }

  void launch_parts(const Launch& run) noexcept {
    const std::int64_t parts = split_.parts;
    const std::int64_t width = 2 * split_.shape.channels;
    for (std::int64_t s = 0; s < split_.owners; ++s) set_shift(run, s, s);
    auto first = [&](std::int64_t slot) {
      measure(run, slot / parts, slot % parts, slot, slot / parts);
    };
    threads_.for_each_chunk(split_.slots(), first);
    for (std::int64_t s = 0; s < split_.owners; ++s) {
      join_sums(threads_, sums_at(run, s * parts), parts, width, width,
                DType::f64, nullptr);
      finish(run, s, s);
    }
    auto last = [&](std::int64_t slot) {
      write(run, slot / parts, slot % parts, slot / parts);
    };
    threads_.for_each_chunk(split_.slots(), last);
  }

  NormPlan plan_;
  ChannelSplit split_;
  ComputeThreads& threads_;
};

}  // namespace

Result<std::vector<KernelCandidate>> channel_norm_grad_candidates(
    const KernelQuery& query, ComputeThreads& threads) {
  const NormPlan plan = norm_plan(query);
  const ChannelSplit split = channel_split(plan);
  Room room(nullptr);
  plan.dtype == DType::f64 ? void(room_of<double>(room, split))
                           : void(room_of<float>(room, split));
  return std::vector{norm_candidate(
      query,
      fmt::format("channels,parts={},owners={}", split.parts, split.owners),
      room.bytes(), threads)};
}

Result<std::unique_ptr<Kernel>> create_channel_norm_grad(
    const KernelQuery& query, const KernelCandidate&, ComputeThreads& threads) {
  const NormPlan plan = norm_plan(query);
  return with_stored(plan.dtype, [&](auto stored) -> std::unique_ptr<Kernel> {
    return std::make_unique<ChannelNormGradKernel<decltype(stored)>>(plan,
                                                                     threads);
  });
}

}  // namespace plimsoll::ops
