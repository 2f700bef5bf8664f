// The C++ API's optimisers as a job states them.
#pragma once

#include "plimsoll/objective.h"
#include "train/job_spec.h"

namespace plimsoll::train {

OptimizerSpec spec_of(const Optimizer& optimizer);

}  // namespace plimsoll::train
