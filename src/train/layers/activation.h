// Activations by name.
#pragma once

#include <string>

#include "graph/builder.h"
#include "plimsoll/layers.h"

namespace plimsoll::train {

// Of the layer's `activation`, other than "linear"; not valid where there is
// none of that name.
graph::ValueId apply_activation(graph::Builder& builder, const Layer& layer,
                                graph::ValueId value);
std::string unknown_activation(const std::string& name);

}  // namespace plimsoll::train
