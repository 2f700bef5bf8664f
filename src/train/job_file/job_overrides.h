// `dotted.key=value` from the command line, put into a job before it is read.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "train/job_file/job_value.h"

namespace plimsoll::train {

// Values are TOML; a bare word is taken as a string. Numbers in the path
// index arrays: `model.layers.0.units=64`. Later overrides win.
Status apply_overrides(JobValue& job, std::span<const std::string> overrides);

}  // namespace plimsoll::train
