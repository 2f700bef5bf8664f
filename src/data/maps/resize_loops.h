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
  // Of samples: `part` of the way from `top` to `bottom`.
  void (*blend)(const std::uint8_t* top, const std::uint8_t* bottom, float part,
                std::int64_t count, float* out);
  // The same of two planes, their samples written in turns.
  void (*blend_pairs)(const std::uint8_t* top, const std::uint8_t* bottom,
                      const std::uint8_t* other_top,
                      const std::uint8_t* other_bottom, float part,
                      std::int64_t count, float* out);
  // Planes to pixels of 3 channels, or 4, the last of them 255.
  void (*interleave)(const float* red, const float* green_blue,
                     std::int64_t count, std::int64_t channels, float* out);
  // The same from the colours of JPEG files, kept within 0 to 255.
  void (*from_ycbcr)(const float* light, const float* blue_red,
                     std::int64_t count, std::int64_t channels, float* out);
};

// The best of this processor.
const ResizeLoops& resize_loops() noexcept;

// For tests: a level by its number, slowest first; null: not to be had here.
inline constexpr int kResizeLevels = 3;
const ResizeLoops* resize_loops_of(int level) noexcept;

}  // namespace plimsoll::data
