// What a job reads: sources opened and checked, nothing loaded.
#pragma once

#include <memory>

#include "data/feeder.h"
#include "data/source.h"
#include "train/job_spec.h"

namespace plimsoll::train {

struct JobData {
  std::unique_ptr<data::Source> train;
  std::unique_ptr<data::Source> validation;  // may be null
  // Held whole in memory during the run. For planning, stand-ins with the
  // same shapes take the place of what is not loaded yet.
  bool resident = false;
};

Result<JobData> open_data(const JobSpec& job);

// `source` as it will look once it is held in memory: to be measured and laid
// out, never read.
Result<std::unique_ptr<data::Source>> resident_stand_in(
    const data::Source& source);

// How batches are fed, by the job's pipeline.
data::FeederOptions feeder_options(const JobSpec& job, DType labels_as);

}  // namespace plimsoll::train
