// One layer of a job file, by the keys of its type.
#pragma once

#include "train/job_file/job_reader.h"
#include "train/job_spec.h"

namespace plimsoll::train {

LayerSpec read_layer(JobErrors& errors, const JobValue& value,
                     const std::string& path);

}  // namespace plimsoll::train
