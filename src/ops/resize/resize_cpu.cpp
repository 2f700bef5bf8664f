#include "ops/resize/resize_cpu.h"

#include <array>
#include <cstring>
#include <vector>

#include "ops/movement/chunked.h"
#include "ops/resize/resize_shape.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

template <class T>
struct Tap {
  std::int64_t low = 0;
  std::int64_t high = 0;
  T part = 0;  // the weight of `high`

  T weight_of(std::int64_t pixel) const {
    return (low == pixel ? 1 - part : T(0)) + (high == pixel ? part : T(0));
  }
};

// Worked out once: rows and columns of a batch share them.
template <class T>
struct Table {
  explicit Table(const ResizeAxis& axis) {
    for (std::int64_t i = 0; i < axis.to; ++i) {
      const ResizeTap tap = resize_tap(axis, i);
      taps.push_back({tap.low, tap.high,
                      static_cast<T>(tap.part) / static_cast<T>(tap.whole)});
    }
    for (std::int64_t h = 0; h < axis.from; ++h) {
      reaches.push_back(resize_reach(axis, h));
    }
  }
  std::vector<Tap<T>> taps;
  std::vector<ResizeReach> reaches;
};

std::int64_t table_bytes(const ResizeShape& shape) {
  std::int64_t bytes = 0;
  for (const ResizeAxis& axis : {shape.rows, shape.columns}) {
    bytes += axis.to * std::int64_t{sizeof(Tap<double>)} +
             axis.from * std::int64_t{sizeof(ResizeReach)};
  }
  return 2 * bytes;  // as vectors grow
}

template <class T>
class ResizeKernel final : public Kernel {
 public:
  ResizeKernel(const ResizeShape& shape, bool gradient, double bytes,
               ComputeThreads& threads)
      : shape_(shape),
        gradient_(gradient),
        rows_(shape.rows),
        columns_(shape.columns),
        chunks_(movement_chunks(4 * bytes, threads.size())),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const T* in = static_cast<const T*>(args.inputs[0]);
    T* out = static_cast<T*>(args.outputs[0]);
    const std::int64_t each = gradient_ ? shape_.rows.from : shape_.rows.to;
    for_ranges(threads_, chunks_, shape_.batch * each,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   gradient_ ? row_gradient(in, out, i / each, i % each)
                             : row(in, out, i / each, i % each);
                 }
               });
    return LaunchStatus::ok;
  }

 private:
  std::int64_t row_of_images(std::int64_t image, std::int64_t row) const {
    return (image * shape_.rows.from + row) * shape_.columns.from *
           shape_.channels;
  }
  std::int64_t row_of_result(std::int64_t image, std::int64_t row) const {
    return (image * shape_.rows.to + row) * shape_.columns.to * shape_.channels;
  }

  void row(const T* images, T* result, std::int64_t image,
           std::int64_t i) const noexcept {
    const std::int64_t channels = shape_.channels;
    const Tap<T>& down = rows_.taps[static_cast<std::size_t>(i)];
    const T* top = images + row_of_images(image, down.low);
    const T* bottom = images + row_of_images(image, down.high);
    T* to = result + row_of_result(image, i);
    for (const Tap<T>& across : columns_.taps) {
      const std::int64_t low = across.low * channels;
      const std::int64_t high = across.high * channels;
      if (shape_.rows.nearest) {
        std::memcpy(to, top + low,
                    static_cast<std::size_t>(channels) * sizeof(T));
      } else {
        for (std::int64_t c = 0; c < channels; ++c) {
          const T above =
              top[low + c] + (top[high + c] - top[low + c]) * across.part;
          const T below = bottom[low + c] +
                          (bottom[high + c] - bottom[low + c]) * across.part;
          to[c] = above + (below - above) * down.part;
        }
      }
      to += channels;
    }
  }

  // Each pixel of the images sums what reaches it, row by row of the result.
  void row_gradient(const T* dy, T* dx, std::int64_t image,
                    std::int64_t h) const noexcept {
    const std::int64_t channels = shape_.channels;
    T* const to = dx + row_of_images(image, h);
    std::memset(
        to, 0,
        static_cast<std::size_t>(shape_.columns.from * channels) * sizeof(T));
    const ResizeReach reach = rows_.reaches[static_cast<std::size_t>(h)];
    for (std::int64_t i = reach.begin; i < reach.end; ++i) {
      const T down = rows_.taps[static_cast<std::size_t>(i)].weight_of(h);
      const T* from = dy + row_of_result(image, i);
      for (std::int64_t w = 0; w < shape_.columns.from; ++w) {
        const ResizeReach across =
            columns_.reaches[static_cast<std::size_t>(w)];
        T* sum = to + w * channels;
        for (std::int64_t j = across.begin; j < across.end; ++j) {
          const T weight =
              down * columns_.taps[static_cast<std::size_t>(j)].weight_of(w);
          const T* x = from + j * channels;
          for (std::int64_t c = 0; c < channels; ++c) sum[c] += weight * x[c];
        }
      }
    }
  }

  const ResizeShape shape_;
  const bool gradient_;
  const Table<T> rows_;
  const Table<T> columns_;
  const std::int64_t chunks_;
  ComputeThreads& threads_;
};

ResizeShape shape_of(const KernelQuery& query, bool gradient) {
  const Shape& in = query.inputs[0].shape;
  const Shape& out = query.outputs[0].shape;
  return gradient ? resize_shape(out, in, *query.attrs)
                  : resize_shape(in, out, *query.attrs);
}

template <bool gradient>
Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads& threads) {
  if (!is_trainable(query.inputs[0].dtype)) {
    return std::vector<KernelCandidate>{};
  }
  auto candidate =
      movement_candidate(std::string(query.op->name), query, 3e9, threads);
  candidate.private_bytes += table_bytes(shape_of(query, gradient));
  return std::vector{std::move(candidate)};
}

template <bool gradient>
Result<std::unique_ptr<Kernel>> create(const KernelQuery& query,
                                       const KernelCandidate&,
                                       ComputeThreads& threads) {
  const ResizeShape shape = shape_of(query, gradient);
  const double bytes = bytes_moved(query);
  if (query.inputs[0].dtype == DType::f32) {
    return std::unique_ptr<Kernel>(
        std::make_unique<ResizeKernel<float>>(shape, gradient, bytes, threads));
  }
  return std::unique_ptr<Kernel>(
      std::make_unique<ResizeKernel<double>>(shape, gradient, bytes, threads));
}

}  // namespace

std::span<const CpuKernels> resize_cpu_kernels() {
  static constexpr std::array<CpuKernels, 2> kernels = {{
      {"resize", candidates<false>, create<false>},
      {"resize_grad", candidates<true>, create<true>},
  }};
  return kernels;
}

}  // namespace plimsoll::ops
