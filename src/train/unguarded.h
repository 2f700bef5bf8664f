// A switch for tests: with PLIMSOLL_UNGUARDED=1 a job whose plan does not fit
// is started all the same, in memories that hold no more than its budgets. It
// is then the system that refuses, in the memory that runs out.
#pragma once

#include "memory/ballast.h"
#include "train/fit.h"

namespace plimsoll::train {

bool unguarded();

// Leaves each memory what its budget leaves beside the process itself: the
// host by the kernel's limit, the device by filling it up. What is returned
// must stand while the job runs.
Ballast leave_room(const Line& line, const plan::JobPlan& plan,
                   Machine& machine);

// Under which the ledger refuses nothing.
Line no_line();

}  // namespace plimsoll::train
