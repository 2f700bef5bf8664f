// Where the pixels of a resized image come from, one axis at a time. The
// arithmetic is in f32, step by step as TensorFlow has it, so that both choose
// the same pixels.
#pragma once

#include <cstdint>

namespace plimsoll::data {

// Between two neighbours: value(lower) and `part` of the way to value(upper).
// `upper` is the next pixel, or `lower` again, and then `part` is 0. `count`
// entries each.
struct BetweenTable {
  std::int32_t* lower = nullptr;
  std::int32_t* upper = nullptr;
  float* part = nullptr;
  std::int64_t count = 0;
};

// Samples in the one for each pixel in the other.
float scale_of(std::int64_t in, std::int64_t out) noexcept;

// Fills the table for `in` pixels; its numbers are multiplied by `step`.
void fill_between(std::int64_t in, std::int64_t step,
                  const BetweenTable& table) noexcept;
// For `in` samples that lie over the pixels at a scale of their own: `scale`
// samples for each pixel of the result, edges lying on each other.
void fill_between(std::int64_t in, float scale, std::int64_t step,
                  const BetweenTable& table) noexcept;
// The nearest pixel of each.
void fill_nearest(std::int64_t in, std::int64_t out,
                  std::int32_t* from) noexcept;

}  // namespace plimsoll::data
