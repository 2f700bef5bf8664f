#include "ops/pooling/pooling_cpu.h"

#include <array>

#include "ops/movement/chunked.h"
#include "ops/pooling/pooling_loops.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

const PoolTables& tables() {
  static const PoolTables best = pick_pool_tables();
  return best;
}

enum class Pooling { max, max_grad, average, average_grad };

constexpr bool goes_back(Pooling kind) {
  return kind == Pooling::max_grad || kind == Pooling::average_grad;
}

PoolShape shape_of(const KernelQuery& query, Pooling kind) {
  const Shape& in = query.inputs[0].shape;
  const Shape& out = query.outputs[0].shape;
  return goes_back(kind) ? pool_shape(out, in, *query.attrs)
                         : pool_shape(in, out, *query.attrs);
}

double work_of(const KernelQuery& query) {
  const graph::Cost cost =
      query.op->cost(query.inputs, query.outputs, *query.attrs);
  // A step of a window is about as much as a byte.
  return cost.bytes + cost.flops;
}

template <class T, Pooling kind>
class PoolKernel final : public Kernel {
 public:
  PoolKernel(const KernelQuery& query, ComputeThreads& threads)
      : shape_(shape_of(query, kind)),
        small_(place_dtype(*query.attrs) == DType::u8),
        chunks_(movement_chunks(work_of(query), threads.size())),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const std::int64_t each =
        goes_back(kind) ? shape_.rows.from : shape_.rows.to;
    for_ranges(threads_, chunks_, shape_.batch * each,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t row = begin; row < end; ++row) {
                   run(args, row / each, row % each);
                 }
               });
    return LaunchStatus::ok;
  }

 private:
  // Of an image's first element, or of a row of it.
  std::int64_t in_images(std::int64_t image, std::int64_t row = 0) const {
    return (image * shape_.rows.from + row) * shape_.columns.from *
           shape_.channels;
  }
  std::int64_t in_result(std::int64_t image, std::int64_t row = 0) const {
    return (image * shape_.rows.to + row) * shape_.columns.to * shape_.channels;
  }

  template <class Place>
  void run_max(const MaxPoolLoops<T, Place>& loops, const LaunchArgs& args,
               std::int64_t image, std::int64_t row) const noexcept {
    if constexpr (kind == Pooling::max) {
      const std::int64_t to = in_result(image, row);
      loops.forward(shape_,
                    static_cast<const T*>(args.inputs[0]) + in_images(image),
                    row, static_cast<T*>(args.outputs[0]) + to,
                    static_cast<Place*>(args.outputs[1]) + to);
    } else {
      const std::int64_t from = in_result(image);
      loops.backward(shape_, static_cast<const T*>(args.inputs[0]) + from,
                     static_cast<const Place*>(args.inputs[1]) + from, row,
                     static_cast<T*>(args.outputs[0]) + in_images(image, row));
    }
  }

  void run(const LaunchArgs& args, std::int64_t image,
           std::int64_t row) const noexcept {
    const PoolLoops<T>& loops = loops_of<T>(tables());
    const T* from = static_cast<const T*>(args.inputs[0]);
    T* to = static_cast<T*>(args.outputs[0]);
    if constexpr (kind == Pooling::average) {
      loops.average(shape_, from + in_images(image), row,
                    to + in_result(image, row));
    } else if constexpr (kind == Pooling::average_grad) {
      loops.average_grad(shape_, from + in_result(image), row,
                         to + in_images(image, row));
    } else if (small_) {
      run_max(loops.max_small, args, image, row);
    } else {
      run_max(loops.max_large, args, image, row);
    }
  }

  const PoolShape shape_;
  const bool small_;  // places of a byte
  const std::int64_t chunks_;
  ComputeThreads& threads_;
};

Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads& threads) {
  constexpr double kWorkPerSecond = 8e9;  // of one thread
  KernelCandidate candidate;
  candidate.name = std::string(query.op->name);
  candidate.private_bytes = 512;
  const double work = work_of(query);
  const auto sharing = std::min<std::int64_t>(
      movement_chunks(work, threads.size()), threads.size());
  candidate.seconds =
      1e-7 + work / kWorkPerSecond / static_cast<double>(sharing);
  return std::vector{std::move(candidate)};
}

template <Pooling kind>
Result<std::unique_ptr<Kernel>> create(const KernelQuery& query,
                                       const KernelCandidate&,
                                       ComputeThreads& threads) {
  return with_stored(
      query.inputs[0].dtype, [&](auto stored) -> std::unique_ptr<Kernel> {
        return std::make_unique<PoolKernel<decltype(stored), kind>>(query,
                                                                    threads);
      });
}

}  // namespace

std::span<const CpuKernels> pooling_cpu_kernels() {
  static constexpr std::array<CpuKernels, 4> kernels = {{
      {"max_pool2d", candidates, create<Pooling::max>},
      {"max_pool2d_grad", candidates, create<Pooling::max_grad>},
      {"avg_pool2d", candidates, create<Pooling::average>},
      {"avg_pool2d_grad", candidates, create<Pooling::average_grad>},
  }};
  return kernels;
}

}  // namespace plimsoll::ops
