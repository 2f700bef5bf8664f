// Indices as numbers that sort them: the row above, the place among the indices
// below. All are distinct, so that every way of sorting gives one order.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "graph/op_def.h"

namespace plimsoll::ops {

struct RowKeys {
  std::int64_t count = 0;  // indices
  std::int64_t rows = 0;   // of the table; also the key of those outside of it
  int place_bits = 0;
  int row_bits = 0;

  // Empty where 64 bits do not hold them.
  static std::optional<RowKeys> of(const graph::TensorType& indices,
                                   std::int64_t rows) {
    RowKeys keys;
    keys.count = indices.shape.elements();
    keys.rows = rows;
    keys.place_bits = bits_of(keys.count);
    keys.row_bits = bits_of(rows);
    constexpr std::int64_t kMostIndices = std::int64_t{1} << 30;
    if (keys.count > kMostIndices || keys.place_bits + keys.row_bits > 64) {
      return std::nullopt;
    }
    return keys;
  }

  static int bits_of(std::int64_t number) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(number)));
  }

  std::uint64_t make(std::int64_t row, std::int64_t place) const {
    const bool known = row >= 0 && row < rows;
    return static_cast<std::uint64_t>(known ? row : rows) << place_bits |
           static_cast<std::uint64_t>(place);
  }
  std::int64_t row(std::uint64_t key) const {
    return static_cast<std::int64_t>(key >> place_bits);
  }
  std::int64_t place(std::uint64_t key) const {
    return static_cast<std::int64_t>(key &
                                     ((std::uint64_t{1} << place_bits) - 1));
  }
};

}  // namespace plimsoll::ops
