#include <vector>

#include "ops/movement/chunked.h"
#include "ops/movement/transpose_axes.h"

namespace plimsoll::ops {
namespace {

using Axis = TransposeAxis;

// Moves one plane of rows x columns of the result, tile by tile, so that the
// lines read and the lines written both stay in L1.
template <class T>
void move_plane(const T* in, T* out, Axis rows, Axis columns,
                std::int64_t first_row, std::int64_t last_row) {
  constexpr std::int64_t kTile = 32;
  for (std::int64_t r = first_row; r < last_row; r += kTile) {
    const std::int64_t row_end = std::min(r + kTile, last_row);
    for (std::int64_t c = 0; c < columns.extent; c += kTile) {
      const std::int64_t column_end = std::min(c + kTile, columns.extent);
      for (std::int64_t i = r; i < row_end; ++i) {
        const T* from = in + i * rows.stride;
        T* to = out + i * columns.extent;
        for (std::int64_t j = c; j < column_end; ++j) {
          to[j] = from[j * columns.stride];
        }
      }
    }
  }
}

template <class T>
class TransposeKernel final : public Kernel {
 public:
  TransposeKernel(const graph::KernelQuery& query, ComputeThreads& threads)
      : outer_(transpose_axes(
            query.inputs[0].shape,
            query.attrs->get<std::vector<std::int64_t>>("perm"))),
        chunks_(movement_chunks(bytes_moved(query), threads.size())),
        threads_(threads) {
    columns_ = outer_.back();
    outer_.pop_back();
    rows_ = outer_.back();
    outer_.pop_back();
    for (const Axis& axis : outer_) planes_ *= axis.extent;
  }

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const T* in = static_cast<const T*>(args.inputs[0]);
    T* out = static_cast<T*>(args.outputs[0]);
    if (planes_ * rows_.extent * columns_.extent == 0) return LaunchStatus::ok;
    // Rows of all planes are numbered through and cut evenly.
    for_ranges(threads_, chunks_, planes_ * rows_.extent,
               [&](std::int64_t begin, std::int64_t end) {
                 while (begin < end) {
                   const std::int64_t plane = begin / rows_.extent;
                   const std::int64_t row = begin % rows_.extent;
                   const std::int64_t last =
                       std::min(rows_.extent, row + end - begin);
                   move_plane(in + offset_of(plane),
                              out + plane * rows_.extent * columns_.extent,
                              rows_, columns_, row, last);
                   begin += last - row;
                 }
               });
    return LaunchStatus::ok;
  }

 private:
  std::int64_t offset_of(std::int64_t plane) const {
    std::int64_t offset = 0;
    for (std::size_t i = outer_.size(); i-- > 0;) {
      offset += plane % outer_[i].extent * outer_[i].stride;
      plane /= outer_[i].extent;
    }
    return offset;
  }

  std::vector<Axis> outer_;
  Axis rows_;
  Axis columns_;
  std::int64_t planes_ = 1;
  const std::int64_t chunks_;
  ComputeThreads& threads_;
};

template <class T>
std::unique_ptr<Kernel> make(const graph::KernelQuery& query,
                             ComputeThreads& threads) {
  return std::make_unique<TransposeKernel<T>>(query, threads);
}

}  // namespace

Result<std::vector<graph::KernelCandidate>> transpose_candidates(
    const graph::KernelQuery& query, ComputeThreads& threads) {
  return std::vector{movement_candidate("transpose", query, 4e9, threads)};
}

Result<std::unique_ptr<Kernel>> create_transpose(
    const graph::KernelQuery& query, const graph::KernelCandidate&,
    ComputeThreads& threads) {
  switch (size_of(query.inputs[0].dtype)) {
    case 1:
      return make<std::uint8_t>(query, threads);
    case 2:
      return make<std::uint16_t>(query, threads);
    case 4:
      return make<std::uint32_t>(query, threads);
    default:
      return make<std::uint64_t>(query, threads);
  }
}

}  // namespace plimsoll::ops
