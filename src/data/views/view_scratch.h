// Rows of a set beneath, made a few at a time in scratch memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/units.h"
#include "data/element.h"

namespace plimsoll::data {

// Numbers translated on the stack, as many at a time.
inline constexpr std::size_t kNumbersAtOnce = 256;

// Where each field's next row goes; null where nobody wants the field.
using RowPointers = std::array<std::byte*, kMostFields>;

inline RowPointers row_pointers(std::span<std::byte* const> rows) {
  RowPointers at{};
  std::copy_n(rows.begin(), std::min(rows.size(), at.size()), at.begin());
  return at;
}

// Where the rows go that lie behind `count` others.
inline RowPointers behind(const RowPointers& rows, const ElementSpec& spec,
                          std::size_t count) {
  RowPointers at{};
  for (std::size_t i = 0; i < spec.size(); ++i) {
    if (rows[i] == nullptr) continue;
    at[i] = rows[i] + static_cast<std::int64_t>(count) * spec[i].most_bytes;
  }
  return at;
}

// Takes parts of `scratch` one after another, aligned to 64.
class ScratchParts {
 public:
  explicit ScratchParts(std::span<std::byte> scratch) : rest_(scratch) {}
  static std::int64_t part_bytes(std::int64_t bytes) {
    return round_up(bytes, 64);
  }
  std::byte* take(std::int64_t bytes) {
    std::byte* const at = rest_.data();
    rest_ = rest_.subspan(static_cast<std::size_t>(part_bytes(bytes)));
    return at;
  }
  std::span<std::byte> rest() const { return rest_; }

 private:
  std::span<std::byte> rest_;
};

}  // namespace plimsoll::data
