// Activations by name.
#pragma once

#include "graph/builder.h"
#include "plimsoll/layers.h"

namespace plimsoll::train {

// Of the layer's `activation`, one of activations().
graph::ValueId apply_activation(graph::Builder& builder, const Layer& layer,
                                graph::ValueId value);

}  // namespace plimsoll::train
