// Group and batch normalization: sums down the rows, a vector of channels at a
// time.
#include "ops/normalization/channel_norm_cpu.h"

#include <fmt/core.h>

#include <cmath>

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

template <class C>
struct ForwardRoom {
  C* gamma;
  C* beta;
  C* factors;       // three a channel and owner
  double* moments;  // two a channel and slot
};

template <class C>
ForwardRoom<C> room_of(Room& room, const ChannelSplit& split) {
  const std::int64_t channels = split.shape.channels;
  return {room.take<C>(channels), room.take<C>(channels),
          room.take<C>(3 * channels * split.owners),
          room.take<double>(2 * channels * split.slots())};
}

template <class T>
class ChannelNormKernel final : public Kernel {
  using C = Computed<T>;

 public:
  ChannelNormKernel(const NormPlan& plan, ComputeThreads& threads)
      : plan_(plan), split_(channel_split(plan)), threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const std::int64_t channels = split_.shape.channels;
    Room scratch(args.scratch);
    Launch run{args, room_of<C>(scratch, split_)};
    run.gamma = parameter<C>(args, plan_.form.gamma, plan_.parameters, channels,
                             C(1), run.room.gamma);
    run.beta = parameter<C>(args, plan_.form.beta, plan_.parameters, channels,
                            C(0), run.room.beta);
    if (plan_.form.kind == NormKind::inference) {
      set_given_factors(run);
      auto part = [&](std::int64_t slot) { normalize(run, 0, slot, 0); };
      threads_.for_each_chunk(split_.parts, part);
    } else if (split_.whole_segments()) {
      auto task = [&](std::int64_t owner) {
        const std::int64_t end = split_.first_segment(owner + 1);
        for (auto s = split_.first_segment(owner); s < end; ++s) {
          measure(run, s, 0, owner);
          finish(run, s, owner);
          normalize(run, s, 0, owner);
        }
      };
      threads_.for_each_chunk(split_.owners, task);
    } else {
      launch_parts(run);
    }
    return LaunchStatus::ok;
  }

 private:
  struct Launch {
    const LaunchArgs& args;
    ForwardRoom<C> room;
    const C* gamma = nullptr;
    const C* beta = nullptr;
  };

  ChannelMoments moments_at(const Launch& run, std::int64_t slot,
                            std::int64_t channel = 0) const {
    double* mean = run.room.moments + slot * 2 * split_.shape.channels;
    return {mean + channel, mean + split_.shape.channels + channel};
  }
  ChannelFactors<C> factors_at(const Launch& run, std::int64_t owner) const {
    const std::int64_t channels = split_.shape.channels;
    C* shift = run.room.factors + owner * 3 * channels;
    return {shift, shift + channels, nullptr, shift + 2 * channels};
  }

  void measure(const Launch& run, std::int64_t segment, std::int64_t part,
               std::int64_t slot) const {
    loops_of<T>(channel_norm_loops())
        .moments(norm_input<T>(run.args, 0) + split_.offset(segment, part),
                 split_.part_rows(part), split_.shape.channels,
                 moments_at(run, slot));
  }

  void normalize(const Launch& run, std::int64_t segment, std::int64_t part,
                 std::int64_t owner) const {
    const std::int64_t offset = split_.offset(segment, part);
    loops_of<T>(channel_norm_loops())
        .normalize(norm_input<T>(run.args, 0) + offset, split_.part_rows(part),
                   split_.shape.channels, factors_at(run, owner),
                   norm_output<T>(run.args, 0) + offset);
  }

  void launch_parts(const Launch& run) noexcept {
    const std::int64_t parts = split_.parts;
    auto first = [&](std::int64_t slot) {
      measure(run, slot / parts, slot % parts, slot);
    };
    threads_.for_each_chunk(split_.slots(), first);
    constexpr std::int64_t kChunk = 512;
    const std::int64_t channels = split_.shape.channels;
    const std::int64_t chunks = (channels + kChunk - 1) / kChunk;
    auto join = [&](std::int64_t task) {
      const std::int64_t slot = task / chunks * parts;
      const std::int64_t channel = task % chunks * kChunk;
      for (std::int64_t part = 1; part < parts; ++part) {
        channel_norm_loops().join_moments(
            moments_at(run, slot, channel), split_.first_row(part),
            moments_at(run, slot + part, channel), split_.part_rows(part),
            std::min(kChunk, channels - channel));
      }
    };
    threads_.for_each_chunk(chunks * split_.owners, join);
    auto factors = [&](std::int64_t s) { finish(run, s, s); };
    threads_.for_each_chunk(split_.owners, factors);
    auto last = [&](std::int64_t slot) {
      normalize(run, slot / parts, slot % parts, slot / parts);
    };
    threads_.for_each_chunk(split_.slots(), last);
  }

  // Channels' moments become those of groups, and these become factors.
  void finish(const Launch& run, std::int64_t segment,
              std::int64_t owner) const {
    const NormShape& shape = split_.shape;
    const ChannelMoments moments =
        moments_at(run, split_.whole_segments() ? owner : owner * split_.parts);
    const ChannelFactors<C> factors = factors_at(run, owner);
    const auto count = static_cast<double>(shape.count());
    const auto rows = static_cast<double>(shape.rows);
    for (std::int64_t group = 0; group < shape.groups; ++group) {
      const std::int64_t first = group * shape.width();
      const std::int64_t end = first + shape.width();
      double mean = 0;
      for (std::int64_t c = first; c < end; ++c) mean += moments.mean[c];
      mean /= static_cast<double>(shape.width());
      double squares = 0;
      for (std::int64_t c = first; c < end; ++c) {
        const double distance = moments.mean[c] - mean;
        squares += moments.squares[c] + rows * distance * distance;
      }
      const double variance = squares / count;
      const double deviation = 1 / std::sqrt(variance + plan_.epsilon);
      const C most = static_cast<C>(mean);
      const double rest = mean - static_cast<double>(most);
      for (std::int64_t c = first; c < end; ++c) {
        const double scale = deviation * static_cast<double>(run.gamma[c]);
        factors.shift[c] = most;
        factors.scale[c] = static_cast<C>(scale);
        factors.offset[c] =
            static_cast<C>(static_cast<double>(run.beta[c]) - rest * scale);
      }
      const std::int64_t at = segment * shape.groups + group;
      const NormForm& form = plan_.form;
      norm_output<C>(run.args, form.mean_out)[at] = most;
      norm_output<C>(run.args, form.deviation_out)[at] =
          static_cast<C>(deviation);
      if (form.variance_out >= 0) {
        // A single value has no unbiased variance: 0 keeps averages finite.
        const double share =
            plan_.unbiased ? count / std::max(1.0, count - 1) : 1;
        norm_output<C>(run.args, form.variance_out)[at] =
            static_cast<C>(variance * share);
      }
    }
  }

  void set_given_factors(const Launch& run) const {
    const ChannelFactors<C> factors = factors_at(run, 0);
    const C* mean = norm_input<C>(run.args, plan_.form.mean);
    const C* variance = norm_input<C>(run.args, plan_.form.deviation);
    for (std::int64_t c = 0; c < split_.shape.channels; ++c) {
      factors.shift[c] = mean[c];
      factors.scale[c] = static_cast<C>(
          static_cast<double>(run.gamma[c]) /
          std::sqrt(static_cast<double>(variance[c]) + plan_.epsilon));
      factors.offset[c] = run.beta[c];
    }
  }

  NormPlan plan_;
  ChannelSplit split_;
  ComputeThreads& threads_;
};

}  // namespace

Result<std::vector<KernelCandidate>> channel_norm_candidates(
    const KernelQuery& query, ComputeThreads& threads) {
  const NormPlan plan = norm_plan(query);
  const ChannelSplit split = channel_split(plan);
  Room room(nullptr);
  plan.dtype == DType::f64 ? void(room_of<double>(room, split))
                           : void(room_of<float>(room, split));
  return std::vector{
      norm_candidate(query, fmt::format("channels,parts={}", split.parts),
                     room.bytes(), threads)};
}

Result<std::unique_ptr<Kernel>> create_channel_norm(const KernelQuery& query,
                                                    const KernelCandidate&,
                                                    ComputeThreads& threads) {
  const NormPlan plan = norm_plan(query);
  return with_stored(plan.dtype, [&](auto stored) -> std::unique_ptr<Kernel> {
    return std::make_unique<ChannelNormKernel<decltype(stored)>>(plan, threads);
  });
}

}  // namespace plimsoll::ops
