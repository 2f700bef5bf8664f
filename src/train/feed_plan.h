// Readers and slots through which batches reach a job's programs.
#pragma once

#include <string>

#include "data/feeder.h"
#include "train/job_data.h"
#include "train/job_spec.h"
#include "train/machine.h"
#include "train/step_graphs.h"

namespace plimsoll::train {

struct Feed {
  data::FeederOptions options;
  data::FeederLayout layout;
  std::string reason;  // of readers and slots, where they were tuned
};

struct FeedRequest {
  const JobSpec& job;
  const JobData& data;
  Machine& machine;
  Stage stage;
  const StepGraphs& graphs;
  double compute_seconds = 0;  // of a full batch; 0: there is none
};

Result<Feed> plan_feed(const FeedRequest& request);

}  // namespace plimsoll::train
