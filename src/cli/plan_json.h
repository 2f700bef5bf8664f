// `plan --json`: the one object that other programs read.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "train/trainer.h"

namespace plimsoll::cli {

// Bytes are plain integers, times seconds. With a sweep, its rows stand under
// "sweep".
std::string plan_json(const train::PlanReport& report);
std::string plan_json(const train::PlanReport& report, const Sweep& sweep,
                      const std::vector<train::SweepRow>& rows);

}  // namespace plimsoll::cli
