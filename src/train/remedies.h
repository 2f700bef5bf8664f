// Changes that make a job fit.
#pragma once

#include <vector>

#include "train/planned_job.h"
#include "train/trainer.h"

namespace plimsoll::train {

// What a job needs and takes, as far as remedies weigh it.
struct JobWeight {
  std::int64_t host_peak_bytes = 0;
  double seconds_per_example = 0;
};

// Plans `job` without taking training memory.
Result<JobWeight> weigh(const JobSpec& job, Machine& machine);
// With the data already open.
Result<JobWeight> weigh(const JobSpec& job, const JobData& data,
                        Machine& machine);

// The largest budget a user could ask for here.
struct RemedyLimits {
  std::int64_t budget_bytes = 0;
  std::int64_t most_bytes = 0;
};

// For a job that does not fit: changes that keep the budget first, cheapest
// first, each of them planned and seen to fit; then a larger budget where the
// system has it. An empty list: nothing known helps.
Result<std::vector<Remedy>> find_remedies(const JobSpec& job,
                                          const JobWeight& now,
                                          const RemedyLimits& limits,
                                          Machine& machine);

// What the data's own form costs, where that can be changed.
std::vector<Remedy> advice_on_data(const JobSpec& job, const JobData& data);

}  // namespace plimsoll::train
