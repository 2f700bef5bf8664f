// The inner loops of resizing, compiled once for each instruction-set level.
// No contraction: all levels give the same bits.
#pragma once

#include <cstdint>

#include "data/maps/resize_tables.h"

namespace plimsoll::data {

// Rows that `across` reads and writes have this much room behind them.
inline constexpr std::int64_t kRowRoom = 4;  // floats

struct ResizeLoops {
  void (*widen)(const std::uint8_t* in, std::int64_t count, float* out);
  // One row of pixels of `channels`; the table's numbers count floats.
  void (*across)(const float* row, const BetweenTable& table,
                 std::int64_t channels, float* out);
  void (*down)(const float* top, const float* bottom, float part,
               std::int64_t count, float* out);
};

// The best of this processor.
const ResizeLoops& resize_loops() noexcept;

// For tests: a level by its number, slowest first; null: not to be had here.
inline constexpr int kResizeLevels = 3;
const ResizeLoops* resize_loops_of(int level) noexcept;

}  // namespace plimsoll::data
