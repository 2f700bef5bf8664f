// A job spec turned into programs with orders, addresses and a forecast. No
// training memory is taken here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/feeder.h"
#include "graph/lowered.h"
#include "plan/job_plan.h"
#include "train/job_data.h"
#include "train/job_spec.h"
#include "train/machine.h"
#include "train/step_graphs.h"

namespace plimsoll::train {

struct PlannedProgram {
  graph::LoweredGraph lowered;
  std::vector<int> job_state;  // by the program's state: index in the needs
};

struct PlannedJob {
  plan::JobNeeds needs;
  plan::JobPlan plan;                    // programs in the order below
  std::vector<PlannedProgram> programs;  // named in plan.programs
  StepGraphs graphs;
  data::FeederOptions feeding;
  data::FeederLayout train_feed;
  data::FeederLayout validation_feed;
  double input_seconds = 0;  // reading one batch
  double compute_seconds = 0;
  double step_seconds = 0;
  std::uint64_t numerics_key = 0;  // of all programs

  int find_program(const std::string& name) const;  // -1: none
};

// `data` is what open_data() gave for the same job.
Result<PlannedJob> plan_programs(const JobSpec& job, const JobData& data,
                                 Machine& machine);

}  // namespace plimsoll::train
