#include "ops/convolution/depthwise_cpu.h"

#include <fmt/core.h>

#include "ops/convolution/depthwise_loops.h"
#include "ops/convolution/gather_kernel.h"
#include "ops/normalization/norm_kernel.h"

namespace plimsoll::ops {
namespace {

// Rows that a piece of the weights' sums is made for, and pieces at most: by
// the shape alone.
constexpr std::int64_t kPartElements = 65536;
constexpr std::int64_t kMostParts = 32;
constexpr double kSmallFlops = 2e5;  // stays on one thread

const DepthwiseTables& tables() {
  static const DepthwiseTables best = pick_depthwise_tables();
  return best;
}

// Of one image; taps of a row.
template <class T>
DepthwiseTaps<T> taps_of(const Gather& gather, const T* source,
                         std::int64_t image, std::int64_t row) {
  const GatherAxis& rows = gather.rows;
  const GatherAxis& columns = gather.columns;
  DepthwiseTaps<T> taps;
  taps.rows = rows.source_extent;
  taps.columns = columns.source_extent;
  taps.channels = gather.source_channels;
  taps.source = source + image * taps.rows * taps.columns * taps.channels;
  taps.row = row * rows.source_step;
  taps.row_offsets = rows.offsets.data();
  taps.tap_rows = std::ssize(rows.offsets);
  taps.column_step = columns.source_step;
  taps.column_offsets = columns.offsets.data();
  taps.tap_columns = std::ssize(columns.offsets);
  taps.count = columns.count;
  return taps;
}

// w [channels, taps] to [taps, channels], in the order of the gather's taps.
template <class T>
void pack_weights(const ConvShape& shape, const Gather& gather, const T* w,
                  Computed<T>* to) {
  const std::int64_t taps = shape.kernel[0] * shape.kernel[1];
  for (const std::int64_t k : gather.rows.taps) {
    for (const std::int64_t l : gather.columns.taps) {
      for (std::int64_t c = 0; c < shape.channels; ++c) {
        to[c] = widened(w[c * taps + k * shape.kernel[1] + l]);
      }
      to += shape.channels;
    }
  }
}

template <class C>
struct RowRoom {
  C* weights;
  C* bias;
};

template <class C>
RowRoom<C> row_room(Room& room, const ConvShape& shape) {
  return {room.take<C>(shape.kernel[0] * shape.kernel[1] * shape.channels),
          room.take<C>(shape.bias ? shape.channels : 0)};
}

// Forward, and back to the data.
template <class T>
class DepthwiseConv final : public Kernel {
  using C = Computed<T>;

 public:
  DepthwiseConv(const ConvShape& shape, ConvPass pass, ComputeThreads& threads)
      : shape_(shape),
        gathers_(gathers_of(shape, pass)),
        extents_(pass == ConvPass::forward ? shape.out : shape.in),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    Room scratch(args.scratch);
    const RowRoom<C> room = row_room<C>(scratch, shape_);
    if (shape_.bias) {
      widen_run(static_cast<const T*>(args.inputs[2]), shape_.channels,
                room.bias);
    }
    if (gathers_.leave_gaps) {
      std::memset(args.outputs[0], 0,
                  static_cast<std::size_t>(shape_.batch * extents_[0] *
                                           extents_[1] * shape_.channels) *
                      sizeof(T));
    }
    C* weights = room.weights;
    for (const Gather& gather : gathers_.all) {
      pack_weights(shape_, gather, static_cast<const T*>(args.inputs[1]),
                   weights);
      const std::int64_t rows = shape_.batch * gather.rows.count;
      auto body = [&](std::int64_t row) {
        run_row(args, gather, weights, shape_.bias ? room.bias : nullptr, row);
      };
      if (shape_.flops() > kSmallFlops) {
        threads_.for_each_chunk(rows, body);
      } else {
        for (std::int64_t row = 0; row < rows; ++row) body(row);
      }
      weights += gather.taps() * shape_.channels;
    }
    return LaunchStatus::ok;
  }

 private:
  void run_row(const LaunchArgs& args, const Gather& gather, const C* weights,
               const C* bias, std::int64_t index) const {
    const std::int64_t image = index / gather.rows.count;
    const std::int64_t at = index % gather.rows.count;
    const std::int64_t row = gather.rows.first + at * gather.rows.step;
    DepthwiseRow<T> one;
    one.taps =
        taps_of(gather, static_cast<const T*>(args.inputs[0]), image, at);
    one.weights = weights;
    one.bias = bias;
    one.relu = shape_.relu;
    one.out =
        static_cast<T*>(args.outputs[0]) +
        ((image * extents_[0] + row) * extents_[1] + gather.columns.first) *
            shape_.channels;
    one.out_step = gather.columns.step * shape_.channels;
    loops_of<T>(tables()).row(one);
  }

  const ConvShape shape_;
  const Gathers gathers_;
  const std::array<std::int64_t, 2> extents_;  // of the result
  ComputeThreads& threads_;
};

std::int64_t parts_of(const ConvShape& shape) {
  const std::int64_t rows = shape.batch * shape.out[0];
  return std::clamp<std::int64_t>(
      rows * shape.out[1] * shape.channels / kPartElements, 1,
      std::clamp<std::int64_t>(rows, 1, kMostParts));
}

// Of operands T, written as R.
template <class T, class R>
class DepthwiseWeights final : public Kernel {
  using C = Computed<T>;

 public:
  DepthwiseWeights(const ConvShape& shape, ComputeThreads& threads)
      : shape_(shape),
        gather_(gathers_of(shape, ConvPass::weight_grad).all[0]),
        parts_(parts_of(shape)),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    C* all = static_cast<C*>(args.scratch);
    const std::int64_t taps = gather_.taps();
    const std::int64_t count = taps * shape_.channels;
    auto body = [&](std::int64_t part) {
      sum_part(args, part, all + part * count);
    };
    threads_.for_each_chunk(parts_, body);
    R* dw = static_cast<R*>(args.outputs[0]);
    for (std::int64_t i = 0; i < count; ++i) {
      C sum = all[i];
      for (std::int64_t part = 1; part < parts_; ++part) {
        sum += all[part * count + i];
      }
      dw[i % shape_.channels * taps + i / shape_.channels] = narrowed<R>(sum);
    }
    return LaunchStatus::ok;
  }

 private:
  void sum_part(const LaunchArgs& args, std::int64_t part, C* sums) const {
    std::fill_n(sums, gather_.taps() * shape_.channels, C(0));
    const std::int64_t rows = shape_.batch * shape_.out[0];
    const std::int64_t end = rows * (part + 1) / parts_;
    for (std::int64_t i = rows * part / parts_; i < end; ++i) {
      DepthwiseSums<T> one;
      one.taps = taps_of(gather_, static_cast<const T*>(args.inputs[1]),
                         i / shape_.out[0], i % shape_.out[0]);
      one.dy = static_cast<const T*>(args.inputs[0]) +
               i * shape_.out[1] * shape_.channels;
      one.sums = sums;
      loops_of<T>(tables()).sums(one);
    }
  }

  const ConvShape shape_;
  const Gather gather_;
  const std::int64_t parts_;
  ComputeThreads& threads_;
};

}  // namespace

graph::KernelCandidate depthwise_candidate(const ConvShape& shape,
                                           ConvPass pass, DType dtype,
                                           ComputeThreads& threads) {
  // Of one core with AVX-512, measured: products in f32, and bytes.
  constexpr double kFlopsPerSecond = 25e9;
  constexpr double kBytes = 10e9;
  const bool sums = pass == ConvPass::weight_grad;
  const std::int64_t wide = dtype == DType::f64 ? 8 : 4;
  graph::KernelCandidate candidate;
  if (sums) {
    candidate.name = fmt::format("conv2d_weight_grad:own:depthwise:parts={}",
                                 parts_of(shape));
    candidate.scratch_bytes = parts_of(shape) * shape.kernel[0] *
                              shape.kernel[1] * shape.channels * wide;
  } else {
    candidate.name =
        fmt::format("{}:own:depthwise",
                    pass == ConvPass::forward ? "conv2d" : "conv2d_data_grad");
    Room room(nullptr);
    wide == 8 ? void(row_room<double>(room, shape))
              : void(row_room<float>(room, shape));
    candidate.scratch_bytes = room.bytes();
  }
  candidate.private_bytes = 512 + 512 * std::ssize(gathers_of(shape, pass).all);
  const double rate = kFlopsPerSecond * (dtype == DType::f32 ? 1.0 : 0.4) *
                      (best_isa() == Isa::v4 ? 1.0 : 0.5);
  const double seconds =
      shape.flops() / rate +
      shape.pixels() * static_cast<double>(size_of(dtype)) / kBytes;
  candidate.seconds =
      1e-6 + seconds / (shape.flops() > kSmallFlops ? threads.size() : 1);
  return candidate;
}

std::unique_ptr<Kernel> make_depthwise(const ConvShape& shape, ConvPass pass,
                                       DType dtype, ComputeThreads& threads) {
  return with_stored(dtype, [&](auto stored) -> std::unique_ptr<Kernel> {
    using T = decltype(stored);
    if (pass == ConvPass::weight_grad && shape.wide) {
      return std::make_unique<DepthwiseWeights<T, Computed<T>>>(shape, threads);
    }
    if (pass == ConvPass::weight_grad) {
      return std::make_unique<DepthwiseWeights<T, T>>(shape, threads);
    }
    return std::make_unique<DepthwiseConv<T>>(shape, pass, threads);
  });
}

}  // namespace plimsoll::ops
