// A plan for people: accounts, verdict, when memory runs out, what would help.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "train/trainer.h"

namespace plimsoll::cli {

// `typed` is the command so far: each remedy is shown with its own command.
std::string plan_text(const std::string& job_path, const std::string& typed,
                      const train::PlanReport& report);
std::string remedies_text(const std::string& typed,
                          const train::PlanReport& report);
// "host budget 2.0 GiB, from --host-memory"
std::string budgets_text(const train::PlanReport& report);
std::string sweep_text(const Sweep& sweep,
                       const std::vector<train::SweepRow>& rows);

// "1.2 ms", "350 µs"
std::string format_seconds(double seconds);
// "1,234,567"
std::string format_count(std::int64_t count);

}  // namespace plimsoll::cli
