// How much is drawn, and from which seed: PLIMSOLL_RANDOM_SHAPES=N draws so
// many in each test instead, PLIMSOLL_RANDOM_SEED=S others.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace plimsoll::ops::testing {

inline int random_draws(int otherwise) {
  const char* const more = std::getenv("PLIMSOLL_RANDOM_SHAPES");
  return more != nullptr ? std::atoi(more) : otherwise;
}

inline std::uint64_t random_seed() {
  const char* const other = std::getenv("PLIMSOLL_RANDOM_SEED");
  return other != nullptr ? static_cast<std::uint64_t>(std::atoll(other)) : 1;
}

}  // namespace plimsoll::ops::testing
