// Staging of the narrow operand for narrow_loops.cpp: lines of f32, evens and
// odds of each pair of registers apart. Included once by each instruction
// set's file, hence internal linkage.
#pragma once

#include "ops/matmul/narrow_loops.h"
#include "ops/matmul/narrow_turns.h"
#include "ops/simd/bf16_pairs.h"

namespace plimsoll::ops {
namespace {

// The last n elements of a line, zeros behind them.
inline void load_rest(const std::uint16_t* from, std::int64_t n, Wide& even,
                      Wide& odd) {
  std::uint16_t rest[kPair] = {};
  for (std::int64_t i = 0; i < n; ++i) rest[i] = from[i];
  load_pair(rest, even, odd);
}

inline void put_pair(float* to, const Wide& even, const Wide& odd) {
  Simd<float>::store(to, even);
  Simd<float>::store(to + Simd<float>::kLanes, odd);
}

inline void stage_line(const std::uint16_t* from, std::int64_t count,
                       float* to) {
  Wide even;
  Wide odd;
  std::int64_t p = 0;
  for (; p + kPair <= count; p += kPair) {
    load_pair(from + p, even, odd);
    put_pair(to + p, even, odd);
  }
  if (p == count) return;
  load_rest(from + p, count - p, even, odd);
  put_pair(to + p, even, odd);
}

// Any strides, an element after the other.
inline void stage_scattered(const NarrowLines& lines, std::int64_t first,
                            std::int64_t count, float* to,
                            std::int64_t to_line) {
  for (std::int64_t p = first; p < count; p += kPair) {
    const std::int64_t some = count - p < kPair ? count - p : kPair;
    for (std::int64_t j = 0; j < lines.lines; ++j) {
      const std::uint16_t* from = lines.from + j * lines.line + p * lines.step;
      std::uint16_t together[kPair] = {};
      for (std::int64_t i = 0; i < some; ++i)
        together[i] = from[i * lines.step];
      Wide even;
      Wide odd;
      load_pair(together, even, odd);
      put_pair(to + j * to_line + p, even, odd);
    }
  }
}

inline void stage(const NarrowLines& lines, std::int64_t count, float* to,
                  std::int64_t to_line) {
  if (lines.step == 1) {
    for (std::int64_t j = 0; j < lines.lines; ++j) {
      stage_line(lines.from + j * lines.line, count, to + j * to_line);
    }
    return;
  }
  std::int64_t done = 0;
#if defined(__AVX512BW__)
  if (lines.line == 1 && lines.step == lines.lines) {
    for (; done + kPair <= count; done += kPair) {
      take_turns(lines.from + done * lines.step, lines.lines,
                 [&](std::int64_t j, const __m512i& line) {
                   Wide even;
                   Wide odd;
                   std::uint16_t whole[kPair];
                   std::memcpy(whole, &line, sizeof(whole));
                   load_pair(whole, even, odd);
                   put_pair(to + j * to_line + done, even, odd);
                 });
    }
  }
#endif
  stage_scattered(lines, done, count, to, to_line);
}

inline float widened(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

inline void fill_rows(const NarrowLines& lines, std::int64_t count, float* to) {
  for (std::int64_t j = 0; j < lines.lines; ++j) {
    for (std::int64_t p = 0; p < count; ++p) {
      *to++ = widened(lines.from[j * lines.line + p * lines.step]);
    }
  }
}

inline void fill_columns(const NarrowLines& lines, std::int64_t count,
                         float* to) {
  constexpr std::int64_t kLanes = Simd<float>::kLanes;
  const std::int64_t width = (lines.lines + kLanes - 1) / kLanes * kLanes;
  for (std::int64_t p = 0; p < count; ++p) {
    for (std::int64_t j = 0; j < width; ++j) {
      *to++ = j < lines.lines
                  ? widened(lines.from[j * lines.line + p * lines.step])
                  : 0.0f;
    }
  }
}

}  // namespace
}  // namespace plimsoll::ops
