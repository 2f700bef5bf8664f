// A job's states and position in one safetensors file.
#pragma once

#include <string>

#include "train/history.h"
#include "train/running_job.h"

namespace plimsoll::train {

// "<run_dir>/checkpoints/last.safetensors"
std::string checkpoint_path(const std::string& run_dir);

// Written beside, synced and renamed; streams from the arena without a copy.
// `examples` are those of the training set.
Status save_checkpoint(const std::string& path, RunningJob& job,
                       std::int64_t examples, const History& history);

// The checkpoint must be of the same job, with every state of its type:
// otherwise nothing is changed and the error names what differs. The learning
// rate and the number of epochs are the job's own.
Result<History> load_checkpoint(const std::string& path, RunningJob& job,
                                std::int64_t examples);

}  // namespace plimsoll::train
