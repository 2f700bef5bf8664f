// The networks of examples/models, so small that a test trains them.
#pragma once

#include <vector>

#include "models.h"

namespace plimsoll::examples {

// Batches of 8, ten of them.
std::vector<Example> trained_networks();

}  // namespace plimsoll::examples
