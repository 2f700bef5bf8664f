#include "ops/convolution/own_conv_cpu.h"

#include <fmt/core.h>

#include "ops/convolution/gather_kernel.h"
#include "ops/matmul/small_gemm.h"
#include "ops/normalization/norm_kernel.h"

namespace plimsoll::ops {
namespace {

// Rows of gathered pixels at a time: as many as a second-level cache keeps,
// enough to use a part of the weights that has been read.
constexpr std::int64_t kTileBytes = 256 * 1024;
constexpr std::int64_t kLeastTile = 48;
constexpr std::int64_t kMostTile = 384;
constexpr double kSmallFlops = 1e5;  // stays on one thread

// Pixels of the result that share their taps.
struct Phase {
  Gather gather;
  std::int64_t depth = 0;    // of the sums: taps and channels
  std::int64_t weights = 0;  // where its packed ones begin
  std::int64_t tile = 0;     // pixels
  std::int64_t tiles = 0;
};

struct GatherPlan {
  ConvShape shape;
  ConvPass pass = ConvPass::forward;
  std::vector<Phase> phases;
  std::int64_t sources = 0;  // channels of a group that are summed over
  std::int64_t results = 0;  // channels of a group that come out
  std::int64_t result_channels = 0;
  std::int64_t chunks = 1;
  bool leaves_gaps = false;        // zeros between the phases' pixels
  std::int64_t tile_elements = 0;  // of a chunk: gathered, then the result

  bool is_forward() const { return pass == ConvPass::forward; }
};

GatherPlan plan_of(const ConvShape& shape, ConvPass pass,
                   std::int64_t element_bytes, int threads) {
  GatherPlan plan;
  plan.shape = shape;
  plan.pass = pass;
  const std::int64_t c = shape.channels_per_group();
  const std::int64_t o = shape.filters_per_group();
  plan.sources = plan.is_forward() ? c : o;
  plan.results = plan.is_forward() ? o : c;
  plan.result_channels = plan.is_forward() ? shape.filters : shape.channels;
  std::int64_t weights = 0;
  Gathers gathers = gathers_of(shape, pass);
  plan.leaves_gaps = gathers.leave_gaps;
  for (Gather& gather : gathers.all) {
    Phase phase;
    phase.depth = gather.taps() * plan.sources;
    phase.weights = weights;
    weights += phase.depth * plan.results * shape.settings.groups;
    const std::int64_t pixels = shape.batch * gather.pixels_of_image();
    phase.tile = std::clamp(kTileBytes / (element_bytes * phase.depth),
                            kLeastTile, kMostTile);
    phase.tile = std::clamp<std::int64_t>(pixels, 1, phase.tile);
    phase.tiles = (pixels + phase.tile - 1) / phase.tile;
    plan.tile_elements =
        std::max(plan.tile_elements, phase.tile * (phase.depth + plan.results));
    phase.gather = std::move(gather);
    plan.phases.push_back(std::move(phase));
  }
  if (threads > 1 && shape.flops() > kSmallFlops) {
    plan.chunks = std::int64_t{2} * threads;
  }
  return plan;
}

template <class C>
struct GatherRoom {
  C* weights;
  C* bias;
  C* tiles;
};

template <class C>
GatherRoom<C> room_of(Room& room, const GatherPlan& plan) {
  const ConvShape& shape = plan.shape;
  return {room.take<C>(shape.weights()),
          room.take<C>(shape.bias ? shape.filters : 0),
          room.take<C>(plan.chunks * plan.tile_elements)};
}

template <class T>
class GatheredConv final : public Kernel {
  using C = Computed<T>;

 public:
  GatheredConv(GatherPlan plan, ComputeThreads& threads)
      : plan_(std::move(plan)), table_(gemm_table<C>()), threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    x_ = static_cast<const T*>(args.inputs[0]);
    y_ = static_cast<T*>(args.outputs[0]);
    Room scratch(args.scratch);
    room_ = room_of<C>(scratch, plan_);
    if (plan_.shape.bias) {
      widen_run(static_cast<const T*>(args.inputs[2]), plan_.shape.filters,
                room_.bias);
    }
    pack(static_cast<const T*>(args.inputs[1]));
    if (plan_.leaves_gaps) {
      std::memset(
          y_, 0,
          static_cast<std::size_t>(plan_.shape.batch * plan_.shape.in[0] *
                                   plan_.shape.in[1] * plan_.shape.channels) *
              sizeof(T));
    }
    std::int64_t all = 0;
    for (const Phase& phase : plan_.phases) all += groups() * phase.tiles;
    auto body = [&](std::int64_t chunk) {
      C* tiles = room_.tiles + chunk * plan_.tile_elements;
      const std::int64_t end = all * (chunk + 1) / plan_.chunks;
      for (std::int64_t i = all * chunk / plan_.chunks; i < end; ++i) {
        run_tile(i, tiles);
      }
    };
    threads_.for_each_chunk(plan_.chunks, body);
    return LaunchStatus::ok;
  }

 private:
  std::int64_t groups() const { return plan_.shape.settings.groups; }

  // Of each phase and group a matrix [tap and source channel, result].
  void pack(const T* w) noexcept {
    for (const Phase& phase : plan_.phases) {
      auto body = [&](std::int64_t index) {
        pack_tap(w, phase, index / phase.gather.taps(),
                 index % phase.gather.taps());
      };
      threads_.for_each_chunk(groups() * phase.gather.taps(), body);
    }
  }

  void pack_tap(const T* w, const Phase& phase, std::int64_t group,
                std::int64_t index) const {
    const ConvShape& shape = plan_.shape;
    const auto across =
        static_cast<std::int64_t>(phase.gather.columns.taps.size());
    const std::int64_t k =
        phase.gather.rows.taps[static_cast<std::size_t>(index / across)];
    const std::int64_t l =
        phase.gather.columns.taps[static_cast<std::size_t>(index % across)];
    const std::int64_t c = shape.channels_per_group();
    const std::int64_t o = shape.filters_per_group();
    const std::int64_t filter = shape.kernel[0] * shape.kernel[1] * c;
    const T* from = w + group * o * filter + (k * shape.kernel[1] + l) * c;
    C* to = room_.weights + phase.weights +
            (group * phase.depth + index * plan_.sources) * plan_.results;
    if (!plan_.is_forward()) {
      for (std::int64_t i = 0; i < o; ++i) {
        widen_run(from + i * filter, c, to + i * c);
      }
      return;
    }
    constexpr std::int64_t kBlock = 16;  // of a filter's cache line
    for (std::int64_t j = 0; j < c; j += kBlock) {
      const std::int64_t end = std::min(j + kBlock, c);
      for (std::int64_t i = 0; i < o; ++i) {
        for (std::int64_t p = j; p < end; ++p) {
          to[p * o + i] = widened(from[i * filter + p]);
        }
      }
    }
  }

  void run_tile(std::int64_t index, C* room) const {
    std::size_t at = 0;
    while (index >= groups() * plan_.phases[at].tiles) {
      index -= groups() * plan_.phases[at++].tiles;
    }
    const Phase& phase = plan_.phases[at];
    const Gather& gather = phase.gather;
    const std::int64_t group = index / phase.tiles;
    const std::int64_t first = index % phase.tiles * phase.tile;
    const std::int64_t count = std::min(
        phase.tile, plan_.shape.batch * gather.pixels_of_image() - first);
    const T* source = x_ + group * plan_.sources;
    GemmArgs<C> args;
    args.m = count;
    args.n = plan_.results;
    args.k = phase.depth;
    args.a_col = 1;
    args.a_row = phase.depth;
    args.b =
        room_.weights + phase.weights + group * phase.depth * plan_.results;
    args.b_row = plan_.results;
    if (plan_.shape.bias) args.bias = room_.bias + group * plan_.results;
    args.relu = plan_.shape.relu;
    bool gathered = true;
    bool dense = false;
    if constexpr (kIsComputed<T>) {
      dense = gather.rows.is_dense() && gather.columns.is_dense();
      if (dense) {
        args.c = y_ + first * plan_.result_channels + group * plan_.results;
        args.c_row = plan_.result_channels;
      }
      if (gather.rows.is_identity() && gather.columns.is_identity()) {
        args.a = source + first * gather.source_channels;
        args.a_row = gather.source_channels;
        gathered = false;
      }
    }
    if (gathered) {
      gather_pixels(gather, source, plan_.sources, first, count, room);
      args.a = room;
    }
    C* const result = room + count * phase.depth;
    if (!dense) {
      args.c = result;
      args.c_row = plan_.results;
    }
    multiply(args);
    if (!dense) scatter(gather, group, first, count, result);
  }

  void multiply(GemmArgs<C>& args) const {
    if (args.n == 1) {
      args.one_bias = true;
      table_.rows_dot(args);
    } else {
      table_.direct(args);
    }
  }

  void scatter(const Gather& gather, std::int64_t group, std::int64_t first,
               std::int64_t count, const C* from) const {
    const GatherAxis& rows = gather.rows;
    const GatherAxis& columns = gather.columns;
    if (rows.is_dense() && columns.is_dense() &&
        plan_.results == plan_.result_channels) {
      narrow_run(from, count * plan_.results, y_ + first * plan_.results);
      return;
    }
    const auto& extents = plan_.is_forward() ? plan_.shape.out : plan_.shape.in;
    for (std::int64_t pixel = first; pixel < first + count; ++pixel) {
      const std::int64_t image = pixel / gather.pixels_of_image();
      const std::int64_t row =
          rows.first + pixel / columns.count % rows.count * rows.step;
      const std::int64_t column =
          columns.first + pixel % columns.count * columns.step;
      T* to = y_ +
              ((image * extents[0] + row) * extents[1] + column) *
                  plan_.result_channels +
              group * plan_.results;
      narrow_run(from, plan_.results, to);
      from += plan_.results;
    }
  }

  const GatherPlan plan_;
  const GemmTable<C>& table_;
  ComputeThreads& threads_;
  const T* x_ = nullptr;
  T* y_ = nullptr;
  GatherRoom<C> room_{};
};

std::int64_t bytes_of(DType dtype) { return dtype == DType::f64 ? 8 : 4; }

}  // namespace

double gathered_seconds(const ConvShape& shape, const GatherWork& work,
                        DType dtype, int threads) {
  // Of one core at 2.8 GHz, measured: long sums in wide blocks, and elements.
  constexpr double kFlops[] = {10e9, 70e9, 130e9};
  constexpr double kGathers = 8e9;
  constexpr double kPacks = 0.25e9;
  constexpr double kBytes = 10e9;
  constexpr double kBlockRows = 16;  // what a short sum costs besides
  const double lanes = best_isa() == Isa::v4 ? 16 : 8;
  const auto rows = static_cast<double>(work.rows);
  const auto columns = static_cast<double>(work.columns);
  const double wide = columns < lanes ? 0.4 * columns / lanes : 1;
  const double rate = kFlops[static_cast<int>(best_isa())] * work.efficiency *
                      rows / (rows + kBlockRows) * std::max(wide, 0.07) *
                      (dtype == DType::f64 ? 0.5 : 1.0);
  const double seconds =
      shape.flops() / rate + static_cast<double>(work.gathered) / kGathers +
      static_cast<double>(work.packed) / kPacks +
      shape.pixels() * static_cast<double>(size_of(dtype)) / kBytes;
  return 1e-6 + seconds / (shape.flops() > kSmallFlops ? threads : 1);
}

graph::KernelCandidate gathered_candidate(const ConvShape& shape, ConvPass pass,
                                          DType dtype,
                                          ComputeThreads& threads) {
  const GatherPlan plan = plan_of(shape, pass, bytes_of(dtype), threads.size());
  Room room(nullptr);
  dtype == DType::f64 ? void(room_of<double>(room, plan))
                      : void(room_of<float>(room, plan));
  std::int64_t gathered = 0;
  for (const Phase& phase : plan.phases) {
    const bool as_it_lies =
        phase.gather.rows.is_identity() && phase.gather.columns.is_identity();
    if (as_it_lies && size_of(dtype) > 2) continue;
    gathered += shape.batch * phase.gather.pixels_of_image() * phase.depth *
                shape.settings.groups;
  }
  graph::KernelCandidate candidate;
  candidate.name = fmt::format(
      "{}:own:gathered:{}", plan.is_forward() ? "conv2d" : "conv2d_data_grad",
      ops::name_of(best_isa()));
  candidate.scratch_bytes = room.bytes();
  candidate.private_bytes =
      512 + static_cast<std::int64_t>(plan.phases.size()) * 512;
  GatherWork work;
  work.gathered = gathered;
  work.packed = shape.weights();
  work.columns = plan.results;
  work.rows = plan.phases.empty() ? 1 : plan.phases[0].depth;
  candidate.seconds = gathered_seconds(shape, work, dtype, threads.size());
  return candidate;
}

std::unique_ptr<Kernel> make_gathered(const ConvShape& shape, ConvPass pass,
                                      DType dtype, ComputeThreads& threads) {
  return with_stored(dtype, [&](auto stored) -> std::unique_ptr<Kernel> {
    return std::make_unique<GatheredConv<decltype(stored)>>(
        plan_of(shape, pass, bytes_of(dtype), threads.size()), threads);
  });
}

}  // namespace plimsoll::ops
