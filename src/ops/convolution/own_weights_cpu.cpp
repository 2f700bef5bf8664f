// The weights' gradient as products of gathered pixels: for each group, some
// rows of the kernel and a block of channels, [taps and channels, pixels] times
// dy [pixels, filters], over fixed parts of the pixels.
#include <fmt/core.h>

#include "ops/convolution/gather_kernel.h"
#include "ops/convolution/own_conv_cpu.h"
#include "ops/matmul/small_gemm.h"
#include "ops/normalization/norm_kernel.h"

namespace plimsoll::ops {
namespace {

constexpr std::int64_t kTile = 256;          // pixels
constexpr std::int64_t kMostChannels = 128;  // of a block
constexpr std::int64_t kSmallDepth = 192;    // a kernel that is taken whole
constexpr std::int64_t kPieces = 16;         // that a large sum is cut into
constexpr std::int64_t kMostPartBytes = 16 * kMiB;

struct SumPlan {
  ConvShape shape;
  GatherAxis rows;
  GatherAxis columns;
  std::int64_t kernel_rows = 1;  // of a unit: one, or all
  std::int64_t block = 0;        // channels
  std::int64_t blocks = 0;       // of a group's channels
  std::int64_t units = 0;
  std::int64_t parts = 1;  // of the pixels, by the shape alone
  std::int64_t pixels = 0;

  std::int64_t depth() const { return kernel_rows * shape.kernel[1] * block; }
  bool is_pointwise() const {
    return rows.is_identity() && columns.is_identity();
  }
};

SumPlan plan_of(const ConvShape& shape, std::int64_t element_bytes) {
  SumPlan plan;
  plan.shape = shape;
  plan.rows = gather_axes(shape, ConvPass::weight_grad, 0)[0];
  plan.columns = gather_axes(shape, ConvPass::weight_grad, 1)[0];
  const std::int64_t c = shape.channels_per_group();
  plan.blocks = (c + kMostChannels - 1) / kMostChannels;
  plan.block = (c + plan.blocks - 1) / plan.blocks;
  plan.blocks = (c + plan.block - 1) / plan.block;
  if (shape.kernel[0] * shape.kernel[1] * c <= kSmallDepth) {
    plan.kernel_rows = shape.kernel[0];
  }
  plan.units =
      shape.settings.groups * shape.kernel[0] / plan.kernel_rows * plan.blocks;
  plan.pixels = shape.batch * shape.out[0] * shape.out[1];
  const std::int64_t room = std::max<std::int64_t>(
      1, kMostPartBytes / (shape.weights() * element_bytes));
  plan.parts = std::clamp<std::int64_t>(
      std::min((plan.pixels + kTile - 1) / kTile, room), 1,
      (kPieces + plan.units - 1) / plan.units);
  return plan;
}

// Each pair of a unit and a part has its sums; each runs with tiles of its own.
template <class C>
struct SumRoom {
  C* sums;   // of a part: units, [columns and channels, filters of the group]
  C* tiles;  // of a unit and a part
};

template <class C>
SumRoom<C> room_of(Room& room, const SumPlan& plan, bool widens) {
  const std::int64_t tile =
      (plan.is_pointwise() && !widens ? 0 : kTile * plan.depth()) +
      (widens ? kTile * plan.shape.filters_per_group() : 0);
  return {room.take<C>(plan.parts * plan.units * plan.depth() *
                       plan.shape.filters_per_group()),
          room.take<C>(plan.parts * plan.units * tile)};
}

// Of operands T, written as R.
template <class T, class R>
class GatheredSum final : public Kernel {
  using C = Computed<T>;

 public:
  GatheredSum(SumPlan plan, ComputeThreads& threads)
      : plan_(std::move(plan)), table_(gemm_table<C>()), threads_(threads) {
    for (auto first = plan_.rows.offsets.begin();
         first != plan_.rows.offsets.end(); first += plan_.kernel_rows) {
      gathers_.push_back({plan_.rows, plan_.columns, plan_.shape.channels});
      gathers_.back().rows.offsets = {first, first + plan_.kernel_rows};
    }
  }

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    dy_ = static_cast<const T*>(args.inputs[0]);
    x_ = static_cast<const T*>(args.inputs[1]);
    dw_ = static_cast<R*>(args.outputs[0]);
    Room scratch(args.scratch);
    room_ = room_of<C>(scratch, plan_, !kIsComputed<T>);
    auto sum = [&](std::int64_t index) {
      sum_part(index % plan_.units, index / plan_.units);
    };
    threads_.for_each_chunk(plan_.units * plan_.parts, sum);
    auto join = [&](std::int64_t unit) { join_parts(unit); };
    threads_.for_each_chunk(plan_.units, join);
    return LaunchStatus::ok;
  }

 private:
  struct Unit {
    std::int64_t group;
    std::int64_t rows;     // which of the kernel's
    std::int64_t channel;  // of the group
    std::int64_t channels;
  };
  Unit unit_at(std::int64_t index) const {
    const std::int64_t of_group = plan_.shape.kernel[0] / plan_.kernel_rows;
    const std::int64_t channel = index % plan_.blocks * plan_.block;
    return {index / plan_.blocks / of_group, index / plan_.blocks % of_group,
            channel,
            std::min(plan_.block, plan_.shape.channels_per_group() - channel)};
  }
  std::int64_t unit_elements() const {
    return plan_.depth() * plan_.shape.filters_per_group();
  }

  void sum_part(std::int64_t index, std::int64_t part) const {
    const Unit unit = unit_at(index);
    const ConvShape& shape = plan_.shape;
    const std::int64_t filters = shape.filters_per_group();
    const std::int64_t here = part * plan_.units + index;
    const bool pointwise = plan_.is_pointwise() && kIsComputed<T>;
    C* tile = room_.tiles + here * ((pointwise ? 0 : kTile * plan_.depth()) +
                                    (kIsComputed<T> ? 0 : kTile * filters));
    const Gather& gather = gathers_[static_cast<std::size_t>(unit.rows)];
    const T* x = x_ + unit.group * shape.channels_per_group() + unit.channel;
    GemmArgs<C> args;
    args.m = plan_.kernel_rows * shape.kernel[1] * unit.channels;
    args.n = filters;
    args.a_row = 1;
    args.a_col = args.m;
    args.c = room_.sums + here * unit_elements();
    args.c_row = filters;
    const std::int64_t end = plan_.pixels * (part + 1) / plan_.parts;
    std::int64_t first = plan_.pixels * part / plan_.parts;
    if (first == end) std::fill_n(args.c, unit_elements(), C(0));
    for (; first < end; first += args.k) {
      args.k = std::min(kTile, end - first);
      const T* dy = dy_ + first * shape.filters + unit.group * filters;
      bool gathered = true;
      if constexpr (kIsComputed<T>) {
        args.b = dy;
        args.b_row = shape.filters;
        if (pointwise) {
          args.a = x + first * shape.channels;
          args.a_col = shape.channels;
          gathered = false;
        }
      } else {
        C* wide = tile + kTile * plan_.depth();
        const bool together = filters == shape.filters;
        const std::int64_t run = together ? args.k * filters : filters;
        for (std::int64_t i = 0; i < args.k * filters; i += run) {
          widen_run(dy + i / filters * shape.filters, run, wide + i);
        }
        args.b = wide;
        args.b_row = filters;
      }
      if (gathered) {
        gather_pixels(gather, x, unit.channels, first, args.k, tile);
        args.a = tile;
      }
      table_.direct(args);
      args.accumulate = true;
    }
  }

  void join_parts(std::int64_t index) const {
    const Unit unit = unit_at(index);
    const ConvShape& shape = plan_.shape;
    const std::int64_t filters = shape.filters_per_group();
    const std::int64_t c = shape.channels_per_group();
    const std::int64_t step = plan_.units * unit_elements();
    const C* sums = room_.sums + index * unit_elements();
    for (std::int64_t o = 0; o < filters; ++o) {
      R* row = dw_ + ((unit.group * filters + o) * shape.kernel[0] +
                      unit.rows * plan_.kernel_rows) *
                         shape.kernel[1] * c;
      for (std::int64_t l = 0; l < plan_.kernel_rows * shape.kernel[1]; ++l) {
        for (std::int64_t i = 0; i < unit.channels; ++i) {
          const C* from = sums + (l * unit.channels + i) * filters + o;
          C sum = *from;
          for (std::int64_t part = 1; part < plan_.parts; ++part) {
            sum += from[part * step];
          }
          row[l * c + unit.channel + i] = narrowed<R>(sum);
        }
      }
    }
  }

  const SumPlan plan_;
  std::vector<Gather> gathers_;  // by the unit's rows
  const GemmTable<C>& table_;
  ComputeThreads& threads_;
  const T* dy_ = nullptr;
  const T* x_ = nullptr;
  R* dw_ = nullptr;
  SumRoom<C> room_{};
};

}  // namespace

graph::KernelCandidate gathered_sum_candidate(const ConvShape& shape,
                                              DType dtype,
                                              ComputeThreads& threads) {
  const bool widens = size_of(dtype) == 2;
  const SumPlan plan = plan_of(shape, dtype == DType::f64 ? 8 : 4);
  Room room(nullptr);
  dtype == DType::f64 ? void(room_of<double>(room, plan, widens))
                      : void(room_of<float>(room, plan, widens));
  const std::int64_t gathered =
      plan.is_pointwise() && !widens
          ? 0
          : plan.pixels * plan.units * plan.depth() / plan.blocks;
  graph::KernelCandidate candidate;
  candidate.name = fmt::format("conv2d_weight_grad:own:gathered:{}:parts={}",
                               ops::name_of(best_isa()), plan.parts);
  candidate.scratch_bytes = room.bytes();
  candidate.private_bytes = 1024 + 512 * shape.kernel[0];
  GatherWork work;
  work.gathered = gathered;
  work.packed = plan.parts * shape.weights() / 4;
  work.columns = shape.filters_per_group();
  work.rows = 2 * plan.depth();  // the sums themselves are long
  work.efficiency = 0.75;
  candidate.seconds = gathered_seconds(shape, work, dtype, threads.size());
  return candidate;
}

std::unique_ptr<Kernel> make_gathered_sum(const ConvShape& shape, DType dtype,
                                          ComputeThreads& threads) {
  return with_stored(dtype, [&](auto stored) -> std::unique_ptr<Kernel> {
    using T = decltype(stored);
    const SumPlan plan = plan_of(shape, dtype == DType::f64 ? 8 : 4);
    if (shape.wide) {
      return std::make_unique<GatheredSum<T, Computed<T>>>(plan, threads);
    }
    return std::make_unique<GatheredSum<T, T>>(plan, threads);
  });
}

}  // namespace plimsoll::ops
