// Checks a plan against its program. Shares no code with the planner.
#pragma once

#include "plan/program_plan.h"

namespace plimsoll::plan {

// Ok, or the first broken rule with the names of what breaks it: an order that
// is no permutation or runs a reader before its writer, buffers alive at the
// same time at overlapping addresses, memory of another place than the
// instruction's, an end above the height, a misaligned or missing offset, a
// height above the packing's claim, wrong byte sums.
Status validate(const graph::LoweredGraph& program, const ProgramPlan& plan,
                std::int64_t alignment_bytes = kBufferAlignment);

}  // namespace plimsoll::plan
