// All memory up front: where growth is off, a job takes its whole budget.
#pragma once

#include "train/fit.h"
#include "train/planned_job.h"
#include "train/workplace.h"

namespace plimsoll::train {

// Adds to the forecasts what their budgets leave, in whole pages or granules
// and as `cache`, beside what others in the process hold. Does nothing to a job
// that does not fit, nor where growth is on.
void reserve_rest(const Workplace& place, const Line& held,
                  PlannedJob& planned);

}  // namespace plimsoll::train
