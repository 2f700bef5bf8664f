// What the planner needs to be true of a program before it reads it.
#pragma once

#include "graph/lowered.h"

namespace plimsoll::plan {

// Every id and index in range, dependencies backward only, nothing read before
// it is written, and all bytes together, aligned, below 2^62.
Status check_program(const graph::LoweredGraph& program,
                     std::int64_t alignment_bytes);

}  // namespace plimsoll::plan
