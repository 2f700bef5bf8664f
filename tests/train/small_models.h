// The networks of examples/models, so small that a test trains them.
#pragma once

#include <vector>

#include "models.h"

namespace plimsoll::examples {

// Batches of 8, ten of them.
std::vector<Example> trained_networks();

// Twenty steps that learn, inside the session's lines, with planned pools 0
// bytes apart and nothing left behind.
void expect_to_train(Example example, Session& session);

}  // namespace plimsoll::examples
