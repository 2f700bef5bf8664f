// Optimisers as graph nodes: one update op a parameter.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/builder.h"
#include "train/job_spec.h"
#include "train/network.h"

namespace plimsoll::train {

struct UpdateScalars {
  graph::ValueId rate;
  graph::ValueId step;
  graph::ValueId gate;  // where gradients are scaled and may be refused
};

// Names of the states that every update reads.
inline constexpr const char* kLearningRate = "learning_rate";
inline constexpr const char* kStep = "step";

struct UpdateCounters {
  graph::ValueId rate;  // of this update
  graph::ValueId step;  // the state: how many there were
};

// Adds both, the rate in the parameters' type and by its schedule, where there
// is one.
Result<UpdateCounters> add_counters(graph::Builder& builder,
                                    const OptimizerSpec& optimizer,
                                    DType dtype);

// A state that does not start at zero.
struct StartValue {
  std::string state;
  double value = 0;
};

// Whether the rule looks at a whole parameter, so that rows do not suffice.
bool needs_whole_tables(const OptimizerSpec& optimizer);

// Adds the optimiser's state and the updates; `gradients` stand in the order
// of the parameters. A table whose whole gradient is that of one embedding is
// updated in the rows of the batch alone (see ops/embedding/embedding.h),
// unless the rule needs it whole: that gradient is then never made.
Result<std::vector<StartValue>> add_updates(
    graph::Builder& builder, const OptimizerSpec& optimizer,
    std::span<const Parameter> parameters,
    std::span<const graph::ValueId> gradients, const UpdateScalars& scalars);

// 1 where all gradients are finite, else 0. What a table is updated from is
// looked at in its place.
graph::ValueId finite_gradients(graph::Builder& builder,
                                std::span<const Parameter> parameters,
                                std::span<const graph::ValueId> gradients);

}  // namespace plimsoll::train
