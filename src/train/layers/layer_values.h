// Whether a layer's fields hold what its keys may: a job file's were looked at
// as they were read, those of a layer made in C++ were not.
#pragma once

#include <string>

#include "train/layers/layer_def.h"

namespace plimsoll::train {

// "units: must be an integer from 1 to 2147483647, not 0"; empty: all is well.
std::string wrong_value(const LayerDef& def, const Layer& layer);

}  // namespace plimsoll::train
