// Two registers of f32 from one of bf16, even places and odd places apart: a
// shift and a mask instead of moving elements across lanes. Internal linkage,
// as in simd.h.
#pragma once

#include <cstring>

#include "ops/simd/simd.h"

namespace plimsoll::ops {
namespace {

using Wide = Simd<float>::Reg;
typedef std::uint32_t PairBits __attribute__((vector_size(sizeof(Wide))));

// Elements of a pair of registers.
inline constexpr std::int64_t kPair = 2 * Simd<float>::kLanes;

inline void load_pair(const std::uint16_t* from, Wide& even, Wide& odd) {
  PairBits both;
  std::memcpy(&both, from, sizeof(both));
  const PairBits low = both << 16;
  const PairBits high = both & 0xffff0000u;
  std::memcpy(&even, &low, sizeof(low));
  std::memcpy(&odd, &high, sizeof(high));
}

// To the nearest, as base/half.h; what is kept stands in the upper half.
inline PairBits rounded_up_high(const Wide& x) {
  PairBits bits;
  std::memcpy(&bits, &x, sizeof(bits));
  const PairBits nearest = bits + 0x7fffu + ((bits >> 16) & 1u);
  return (bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : nearest;
}

inline void store_pair(std::uint16_t* to, const Wide& even, const Wide& odd) {
  const PairBits both =
      (rounded_up_high(even) >> 16) | (rounded_up_high(odd) & 0xffff0000u);
  std::memcpy(to, &both, sizeof(both));
}

}  // namespace
}  // namespace plimsoll::ops
