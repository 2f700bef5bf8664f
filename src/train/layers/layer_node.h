// What stands behind a LayerOutput.
#pragma once

#include "plimsoll/layers.h"

namespace plimsoll {

// Throws where a layer was made by none of the functions that make them.
void check_type(const Layer& layer);

struct LayerOutput::Node {
  std::int64_t number = 0;  // in the order of calls, for a stable order
  Layer layer;              // of no type: the model's input
  std::vector<std::int64_t> shape;
  std::vector<LayerOutput> inputs;
  std::vector<LayerOutput> mask;  // one or none
};

}  // namespace plimsoll
