// What the loops by hand train on, at once and traced: the same.
#pragma once

#include "compare.h"

namespace example {

inline constexpr std::int64_t kLoopInputs = 64;
inline constexpr double kLoopRate = 0.05;

struct LoopSizes {
  std::int64_t batch, hidden;
  int steps;
};

inline LoopSizes loop_sizes(const Setting& setting) {
  return setting.small ? LoopSizes{1'024, 512, 100}
                       : LoopSizes{2'048, 1'024, 200};
}

}  // namespace example
