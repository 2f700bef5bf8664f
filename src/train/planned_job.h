// A job spec turned into programs with orders, addresses and a forecast. No
// training memory is taken here.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "graph/lowered.h"
#include "plan/job_plan.h"
#include "train/feed_plan.h"
#include "train/job_data.h"
#include "train/job_spec.h"
#include "train/machine.h"
#include "train/step_graphs.h"

namespace plimsoll::train {

struct PlannedProgram {
  graph::LoweredGraph lowered;
  std::vector<int> job_state;  // by the program's state: index in the needs
};

// Indices of a stage's programs; -1: none.
struct StagePrograms {
  int full = -1;
  int tail = -1;
  int update = -1;  // of several batches' gradients
};

struct PlannedJob {
  plan::JobNeeds needs;
  plan::JobPlan plan;                    // programs in the order below
  std::vector<PlannedProgram> programs;  // named in plan.programs
  StepGraphs graphs;
  std::array<Feed, kStages> feeds;
  std::array<StagePrograms, kStages> stages;
  double input_seconds = 0;  // reading one batch
  double copy_seconds = 0;   // of it, to the device
  double compute_seconds = 0;
  double step_seconds = 0;
  std::uint64_t numerics_key = 0;  // of all programs
  bool exact = true;               // false: from an estimated profile
  // What planning's heap grows with: values of each program's graph, those of
  // the largest three times more. Copies of it are there while it is made
  // better, while another batch is planned beside it, and the most of them
  // where a budget is so tight that remedies are looked for.
  std::int64_t graph_values = 0;

  const Feed& feed(Stage stage) const {
    return feeds[static_cast<std::size_t>(stage)];
  }
  const StagePrograms& programs_of(Stage stage) const {
    return stages[static_cast<std::size_t>(stage)];
  }
};

// Input, copy and compute go on beside each other where batches are read ahead.
double step_seconds(bool ahead, double input, double copy, double compute);

// `data` is what open_data() gave for the same job.
Result<PlannedJob> plan_programs(const JobSpec& job, const JobData& data,
                                 Machine& machine);

}  // namespace plimsoll::train
