// The distinct rows that a batch's indices name, each with the sum of its
// gradients, in scratch whose size follows from the batch alone.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/units.h"
#include "device/cpu/compute_threads.h"
#include "ops/embedding/embedding_loops.h"
#include "ops/embedding/row_keys.h"
#include "ops/kernel.h"

namespace plimsoll::ops {

// Sorts stably by the bits from `first` up to `last`, with `other` as room for
// as many; the result is in one of the two.
std::uint64_t* sort_keys(std::uint64_t* keys, std::uint64_t* other,
                         std::int64_t count, int first, int last) noexcept;

struct SummedRowsShape {
  RowKeys keys;
  std::int64_t width = 0;
  std::int64_t element_bytes = 0;
  std::int64_t chunks = 1;  // for threads

  static std::optional<SummedRowsShape> of(const graph::TensorType& dy,
                                           const graph::TensorType& indices,
                                           std::int64_t rows, int threads);
  // Two sets of keys, and a sum for each chunk on cache lines of its own.
  std::int64_t sums_offset() const {
    return round_up(2 * keys.count * 8, std::int64_t{64});
  }
  std::int64_t sum_bytes() const {
    return round_up(width * element_bytes, std::int64_t{64});
  }
  std::int64_t scratch_bytes() const {
    return sums_offset() + chunks * sum_bytes();
  }
};

// Calls use(row, sum) once for each distinct row inside of the table. Sums are
// made in the order of the indices, whoever makes them.
template <class T, class Index, class Use>
void for_summed_rows(const SummedRowsShape& shape, const T* dy,
                     const Index* indices, void* scratch,
                     ComputeThreads& threads, const Use& use) noexcept {
  const RowKeys& keys = shape.keys;
  auto* const made = static_cast<std::uint64_t*>(scratch);
  for (std::int64_t i = 0; i < keys.count; ++i) {
    made[i] = keys.make(indices[i], i);
  }
  const std::uint64_t* const sorted =
      sort_keys(made, made + keys.count, keys.count, keys.place_bits,
                keys.place_bits + keys.row_bits);
  RowLoops<T> loops;
  if constexpr (sizeof(T) == 8) {
    loops = pick_row_tables().f64;
  } else {
    loops = pick_row_tables().f32;
  }
  const auto gradient = [&](std::int64_t i) {
    return dy + keys.place(sorted[i]) * shape.width;
  };
  auto chunk = [&](std::int64_t number) {
    auto* const sum =
        reinterpret_cast<T*>(static_cast<std::byte*>(scratch) +
                             shape.sums_offset() + number * shape.sum_bytes());
    std::int64_t i = keys.count * number / shape.chunks;
    const std::int64_t end = keys.count * (number + 1) / shape.chunks;
    while (i < end) {
      const std::int64_t row = keys.row(sorted[i]);
      if (row == keys.rows) return;  // the rest is outside of the table
      const bool first = i == 0 || keys.row(sorted[i - 1]) != row;
      const T* total = gradient(i);
      for (++i; i < keys.count && keys.row(sorted[i]) == row; ++i) {
        if (!first) continue;
        if (total != sum) std::copy_n(total, shape.width, sum);
        total = sum;
        loops.add(gradient(i), shape.width, sum);
      }
      if (first) use(row, total);
    }
  };
  threads.for_each_chunk(shape.chunks, chunk);
}

}  // namespace plimsoll::ops
