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
