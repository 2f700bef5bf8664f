// A job's states and position in one safetensors file.
#pragma once

#include <string>

#include "train/history.h"
#include "train/running_job.h"

namespace plimsoll::train {

// "<run_dir>/checkpoints/last.safetensors"
std::string checkpoint_path(const std::string& run_dir);

// Written beside, synced and renamed; streams from the arena without a copy.
Status save_checkpoint(const std::string& path, RunningJob& job,
                       const History& history);

// Every state must be there with its type: otherwise nothing is changed and
// the error names what differs.
Result<History> load_checkpoint(const std::string& path, RunningJob& job);

}  // namespace plimsoll::train
