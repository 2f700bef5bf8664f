// A transpose at a fixed shape, as kernels see it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/shape.h"

namespace plimsoll::ops {

// One dimension of the result: its extent and the input's stride along it.
struct TransposeAxis {
  std::int64_t extent = 1;
  std::int64_t stride = 1;
};

// The result's dimensions, outermost first, without those of extent 1 and with
// neighbours merged that are neighbours in the input too. At least two remain.
std::vector<TransposeAxis> transpose_axes(
    const Shape& input, const std::vector<std::int64_t>& perm);

}  // namespace plimsoll::ops
