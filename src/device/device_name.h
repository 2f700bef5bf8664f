// Names of devices: cpu, cuda:0, cuda:1, ...
#pragma once

#include <string>

#include "base/result.h"

namespace plimsoll {

// The number in "cuda:0".
Result<int> cuda_ordinal(const std::string& device);

}  // namespace plimsoll
