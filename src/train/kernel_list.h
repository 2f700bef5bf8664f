// The kernels that a plan has chosen, for people and programs that read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/lowered.h"

namespace plimsoll::train {

struct KernelUse {
  std::string kernel;  // algorithm and whatever decides rounding
  std::int64_t instructions = 0;
  std::int64_t scratch_bytes = 0;  // the most that one of them has
};

// In the order of their names.
std::vector<KernelUse> kernels_of(const graph::LoweredGraph& program);

}  // namespace plimsoll::train
