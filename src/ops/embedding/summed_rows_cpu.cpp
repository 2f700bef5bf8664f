#include "ops/embedding/summed_rows_cpu.h"

#include <array>
#include <utility>

#include "ops/movement/chunked.h"

namespace plimsoll::ops {

std::uint64_t* sort_keys(std::uint64_t* keys, std::uint64_t* other,
                         std::int64_t count, int first, int last) noexcept {
  constexpr int kDigitBits = 8;
  constexpr std::uint64_t kDigits = 1 << kDigitBits;
  for (int shift = first; shift < last; shift += kDigitBits) {
    const std::uint64_t mask =
        (std::uint64_t{1} << std::min(kDigitBits, last - shift)) - 1;
    std::array<std::int64_t, kDigits> place{};
    for (std::int64_t i = 0; i < count; ++i) ++place[keys[i] >> shift & mask];
    std::int64_t before = 0;
    for (std::int64_t& at : place) {
      before += std::exchange(at, before);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      other[place[keys[i] >> shift & mask]++] = keys[i];
    }
    std::swap(keys, other);
  }
  return keys;
}

std::optional<SummedRowsShape> SummedRowsShape::of(
    const graph::TensorType& dy, const graph::TensorType& indices,
    std::int64_t rows, int threads) {
  const auto keys = RowKeys::of(indices, rows);
  if (!keys) return std::nullopt;
  SummedRowsShape shape;
  shape.keys = *keys;
  shape.width = dy.shape.extent(-1);
  shape.element_bytes = size_of(dy.dtype);
  shape.chunks =
      std::min(movement_chunks(4 * static_cast<double>(dy.bytes()), threads),
               std::max<std::int64_t>(keys->count, 1));
  return shape;
}

}  // namespace plimsoll::ops
