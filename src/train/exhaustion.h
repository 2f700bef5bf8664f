// At which batch each memory runs out, and which of them is first.
#pragma once

#include "train/planned_job.h"
#include "train/trainer.h"

namespace plimsoll::train {

// Sets exhausts_at and first_to_exhaust of a report whose plan and budgets are
// set. Batches up to 65,536 are looked at.
Status find_exhaustion(const JobSpec& job, const JobData& data,
                       Machine& machine, PlanReport& report);

}  // namespace plimsoll::train
