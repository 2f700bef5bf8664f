// A random network's step, planned and committed as a job is.
#pragma once

#include <cstring>
#include <memory>

#include "memory/arena.h"
#include "plan/validator.h"
#include "runtime/program.h"
#include "train/machine.h"
#include "train/random_network.h"

namespace plimsoll::train::testing {

struct PlannedStep {
  graph::LoweredGraph lowered;
  plan::JobNeeds needs;
  plan::JobPlan plan;
  std::vector<int> job_state;
  Arena arena;
  std::unique_ptr<runtime::Program> program;

  std::byte* slot() const { return arena.data() + plan.arena.staging_offset; }
};

// Call inside the machine's compute threads. Inputs lie in one staging slot.
Result<std::unique_ptr<PlannedStep>> prepare_step(const RandomNetwork& network,
                                                  Machine& machine);

}  // namespace plimsoll::train::testing
