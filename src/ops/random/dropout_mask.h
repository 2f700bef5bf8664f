// Which elements a dropout keeps: the definition that every device follows.
#pragma once

#include "ops/random/random_words.h"

namespace plimsoll::ops {

// Words below it are dropped.
inline std::uint32_t dropout_threshold(double rate) {
  return static_cast<std::uint32_t>(rate * 0x1p32);
}

inline bool dropout_keeps(std::uint64_t key, std::uint64_t step,
                          std::uint32_t threshold, std::uint64_t element) {
  return random_word(key, step, element) >= threshold;
}

}  // namespace plimsoll::ops
