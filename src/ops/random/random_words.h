// The random word of each element: the definition that every device follows.
#pragma once

#include <cstdint>

#include "base/philox.h"

namespace plimsoll::ops {

// Elements come in groups of 64 = 16 Philox blocks of 4 words, one word after
// the other over all blocks: so 16 lanes can write them without a shuffle.
inline constexpr std::uint64_t kWordGroup = 64;
inline constexpr std::uint64_t kWordBlocks = 16;

// Mixes seed and op so that neighbours share nothing.
inline std::uint64_t random_key(std::uint64_t seed, std::uint64_t op) {
  const auto mix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  return mix(mix(seed + 0x9e3779b97f4a7c15u) + op);
}

// Of the words that f64 has for its lower digits.
inline std::uint64_t lower_key(std::uint64_t key) {
  return key ^ 0x5851f42d4c957f2du;
}

inline std::uint32_t random_word(std::uint64_t key, std::uint64_t step,
                                 std::uint64_t element) {
  const std::uint64_t place = element % kWordGroup;
  const std::uint64_t block =
      element / kWordGroup * kWordBlocks + place % kWordBlocks;
  return philox(key, step, block)[place / kWordBlocks];
}

}  // namespace plimsoll::ops
