// Changes that make a job fit.
#pragma once

#include <vector>

#include "train/fit.h"
#include "train/planned_job.h"
#include "train/trainer.h"
#include "train/workplace.h"

namespace plimsoll::train {

// What a job needs and takes, as far as remedies weigh it.
struct JobWeight {
  std::int64_t host_peak_bytes = 0;
  std::int64_t device_peak_bytes = 0;  // 0 on the CPU
  double seconds_per_example = 0;
};

JobWeight weight_of(const JobSpec& job, const PlannedJob& planned);

// Plans `job` without taking training memory.
Result<JobWeight> weigh(const JobSpec& job, Machine& machine);
// With the data already open.
Result<JobWeight> weigh(const JobSpec& job, const JobData& data,
                        Machine& machine);

struct SpaceLimit {
  std::int64_t budget_bytes = 0;
  std::int64_t most_bytes = 0;  // that a user could ask for here
  std::int64_t held_bytes = 0;  // by others of the process, beside the job
};

struct RemedyLimits {
  SpaceLimit host;
  std::optional<SpaceLimit> device;
};

// `held` is what others of the process have already.
RemedyLimits limits_of(const Workplace& place, const Line& held);

// For a job that does not fit: changes that keep the budgets first, cheapest
// first, each of them planned and seen to fit every memory; then larger budgets
// where the system has them. Where neither is enough, changes together with one
// larger budget. An empty list: nothing known helps.
Result<std::vector<Remedy>> find_remedies(const JobSpec& job,
                                          const JobWeight& now,
                                          const RemedyLimits& limits,
                                          Machine& machine);

// What the data's own form costs, where that can be changed.
std::vector<Remedy> advice_on_data(const JobSpec& job, const JobData& data);

}  // namespace plimsoll::train
