// Which elements a dropout keeps: the definition that every device follows.
#pragma once

#include <cstdint>

#include "base/philox.h"

namespace plimsoll::ops {

// Elements come in groups of 64 = 16 Philox blocks of 4 words, one word after
// the other over all blocks: so 16 lanes can write them without a shuffle.
inline constexpr std::uint64_t kMaskGroup = 64;
inline constexpr std::uint64_t kMaskBlocks = 16;

// Mixes seed and op so that neighbours share nothing.
inline std::uint64_t dropout_key(std::uint64_t seed, std::uint64_t op) {
  const auto mix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  return mix(mix(seed + 0x9e3779b97f4a7c15u) + op);
}

// Words below it are dropped.
inline std::uint32_t dropout_threshold(double rate) {
  return static_cast<std::uint32_t>(rate * 0x1p32);
}

inline bool dropout_keeps(std::uint64_t key, std::uint64_t step,
                          std::uint32_t threshold, std::uint64_t element) {
  const std::uint64_t place = element % kMaskGroup;
  const std::uint64_t block =
      element / kMaskGroup * kMaskBlocks + place % kMaskBlocks;
  return philox(key, step, block)[place / kMaskBlocks] >= threshold;
}

}  // namespace plimsoll::ops
