// A model as a job file states it.
#pragma once

#include <string>

#include "train/job_spec.h"

namespace plimsoll::train {

// The section [model], keys that are at their defaults left out. Reading it
// gives the same model.
std::string to_toml(const ModelSpec& model);

}  // namespace plimsoll::train
