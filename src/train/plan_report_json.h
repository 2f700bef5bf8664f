// The one JSON object of `plan --json`, also written as plan.json.
#pragma once

#include <string>

#include "train/trainer.h"

namespace plimsoll::train {

// With `whole_plan`, orders and addresses go along under "plan".
std::string to_json(const PlanReport& report, bool whole_plan);

}  // namespace plimsoll::train
