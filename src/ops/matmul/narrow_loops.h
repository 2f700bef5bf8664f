// Loops for products of bf16 with one long side and one of at most 16: each
// reads the large operand once. What is small or narrow is staged before, in a
// form that belongs to the table: f32, or bf16 for products of pairs.
#pragma once

#include <cstdint>

#include "ops/isa.h"

namespace plimsoll::ops {

// Elements of bf16: element p of line j at from[j * line + p * step].
struct NarrowLines {
  const std::uint16_t* from = nullptr;
  std::int64_t lines = 0;
  std::int64_t line = 0;
  std::int64_t step = 1;
};

// All room is counted in floats. `count` is of the long side.
struct NarrowLoops {
  // The narrow operand of `dots` and of `spread`: `count` elements of every
  // line, padded with zeros; room for `to_line` floats a line, a multiple of
  // 32.
  void (*stage_dots)(const NarrowLines& lines, std::int64_t count, float* to,
                     std::int64_t to_line);
  void (*stage_spread)(const NarrowLines& lines, std::int64_t count, float* to,
                       std::int64_t to_line);
  // sums[i, j] = sum over p < count of a[i * a_row + p] * staged[j, p].
  void (*dots)(const std::uint16_t* a, std::int64_t a_row, std::int64_t rows,
               std::int64_t count, const float* staged, std::int64_t line,
               std::int64_t columns, float* sums);
  // The small operand: of `spread` a line is a row of A; of `tall` a line is
  // a column of B, and `to` has room for `count` times whole registers.
  void (*fill_rows)(const NarrowLines& lines, std::int64_t count, float* to);
  void (*fill_columns)(const NarrowLines& lines, std::int64_t count, float* to);
  // c[i, p] = sum over q < depth of a[i, q] * staged[q, p], rounded.
  void (*spread)(const float* a, std::int64_t rows, std::int64_t depth,
                 const float* staged, std::int64_t line, std::int64_t count,
                 std::uint16_t* c, std::int64_t c_row);
  // c[p, j] = sum over q < depth of a[q * a_col + p] * b[q, j], j < columns.
  // `panels` has room for depth times `count` in whole pairs of registers.
  void (*tall)(const std::uint16_t* a, std::int64_t a_col, std::int64_t depth,
               std::int64_t count, const float* b, std::int64_t columns,
               float* panels, float* c);
  std::int64_t lanes = 0;
  const char* level = "";  // of instructions, as names of kernels have it
};

inline constexpr std::int64_t kMostNarrow = 16;

PLIMSOLL_DECLARE_ISA_TABLE(NarrowLoops, narrow_loops)

#if defined(__x86_64__)
// By the instructions for products of bf16 pairs: twice the rate.
NarrowLoops narrow_pair_loops();
#endif

// The best ones here.
inline NarrowLoops best_narrow_loops() {
#if defined(__x86_64__)
  if (best_isa() == Isa::v4 && __builtin_cpu_supports("avx512bf16") != 0) {
    return narrow_pair_loops();
  }
#endif
  return pick_narrow_loops();
}

}  // namespace plimsoll::ops
