// Optimisers as graph nodes: one update op a parameter.
#pragma once

#include <span>

#include "graph/builder.h"
#include "train/job_spec.h"
#include "train/network.h"

namespace plimsoll::train {

// Adds the optimiser's state and the updates; `gradients` stand in the order
// of the parameters. A table whose whole gradient is that of one embedding is
// updated in the rows of the batch alone (see ops/embedding/embedding.h): that
// gradient is then never made.
Status add_updates(graph::Builder& builder, const OptimizerSpec& optimizer,
                   std::span<const Parameter> parameters,
                   std::span<const graph::ValueId> gradients,
                   graph::ValueId learning_rate, graph::ValueId step);

}  // namespace plimsoll::train
