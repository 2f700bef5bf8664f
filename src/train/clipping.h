// Gradients held to a size before the optimiser takes them, as in Keras.
#pragma once

#include <span>
#include <vector>

#include "graph/builder.h"
#include "train/job_spec.h"
#include "train/network.h"
#include "train/optimizer.h"

namespace plimsoll::train {

// What the update of a parameter reads: a gradient, and the gate it is
// multiplied by (see ops/update/update.h), where there is one.
struct ClippedGradient {
  graph::ValueId gradient;
  graph::ValueId gate;
};

// One a parameter. A norm becomes part of the gate, so that no gradient is
// written a second time. With a global norm all gradients are alive until the
// last of them is there. A table's rows are summed by its update: for a norm
// the table's gradient is made whole and dropped again; to clip its values it
// is made whole and stays so.
Result<std::vector<ClippedGradient>> clip_gradients(
    graph::Builder& builder, const OptimizerSpec& optimizer,
    std::span<const Parameter> parameters,
    std::span<const graph::ValueId> gradients, graph::ValueId gate);

}  // namespace plimsoll::train
