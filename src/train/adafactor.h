// Adafactor as graph nodes: second moments of matrices as a row and a column of
// means, no first moment (Shazeer and Stern, as Keras 3 has it).
#pragma once

#include "graph/builder.h"
#include "train/clipping.h"
#include "train/job_spec.h"
#include "train/network.h"
#include "train/optimizer.h"

namespace plimsoll::train {

class AdafactorUpdates {
 public:
  AdafactorUpdates(graph::Builder& builder, const OptimizerSpec& optimizer,
                   const UpdateScalars& scalars);

  // Adds the states and the update of a parameter.
  void add(const Parameter& parameter, const ClippedGradient& given);

 private:
  graph::ValueId state(const Parameter& parameter, const char* name,
                       Shape shape);
  // The state's mean with `now` in it, assigned; a closed gate keeps it.
  graph::ValueId average(graph::ValueId state, graph::ValueId now,
                         graph::ValueId gate);
  // The gradient over the root of its second moment.
  graph::ValueId direction(const Parameter& parameter, graph::ValueId gradient,
                           graph::ValueId squares, graph::ValueId gate);
  graph::ValueId root_mean_square(graph::ValueId value);

  graph::Builder& builder_;
  const OptimizerSpec& optimizer_;
  graph::ValueId rate_;   // at the most 1 / sqrt(step)
  graph::ValueId share_;  // of the newest squares in the means
  graph::ValueId rest_;   // 1 - share
};

}  // namespace plimsoll::train
