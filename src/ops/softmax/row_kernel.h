// Kernels that treat each row of the last axis by itself: rows go to threads
// in chunks, which never changes a result.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "device/cpu/compute_threads.h"
#include "ops/cpu_kernels.h"

namespace plimsoll::ops {

struct RowShape {
  std::int64_t rows = 0;
  std::int64_t width = 0;
};

inline RowShape row_shape(const Shape& shape) {
  const std::int64_t width = shape.extent(-1);
  return {width == 0 ? 0 : shape.elements() / width, width};
}

// `run(args, first row, rows, width)` makes the given rows.
template <class Run>
class RowKernel final : public Kernel {
 public:
  RowKernel(RowShape shape, Run run, ComputeThreads& threads)
      : shape_(shape), run_(run), threads_(threads) {
    // About 10 us of exponentials: less is not worth a second thread.
    constexpr std::int64_t kChunkElements = 16384;
    chunk_rows_ = std::max<std::int64_t>(
        1, kChunkElements / std::max<std::int64_t>(1, shape.width));
  }

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    auto body = [&](std::int64_t chunk) {
      const std::int64_t first = chunk * chunk_rows_;
      run_(args, first, std::min(chunk_rows_, shape_.rows - first),
           shape_.width);
    };
    threads_.for_each_chunk((shape_.rows + chunk_rows_ - 1) / chunk_rows_,
                            body);
    return LaunchStatus::ok;
  }

 private:
  RowShape shape_;
  Run run_;
  ComputeThreads& threads_;
  std::int64_t chunk_rows_ = 1;
};

template <class Run>
std::unique_ptr<Kernel> make_row_kernel(RowShape shape, Run run,
                                        ComputeThreads& threads) {
  return std::make_unique<RowKernel<Run>>(shape, run, threads);
}

inline graph::KernelCandidate row_candidate(const graph::KernelQuery& query,
                                            std::string name,
                                            double flops_per_second) {
  graph::KernelCandidate candidate;
  candidate.name = std::move(name);
  candidate.seconds =
      1e-7 + query.op->cost(query.inputs, query.outputs, *query.attrs).flops /
                 flops_per_second;
  return candidate;
}

template <class T>
const T* input(const LaunchArgs& args, int index, std::int64_t offset) {
  return static_cast<const T*>(args.inputs[index]) + offset;
}

template <class T>
T* output(const LaunchArgs& args, std::int64_t offset) {
  return static_cast<T*>(args.outputs[0]) + offset;
}

}  // namespace plimsoll::ops
