// A job's states and position in one safetensors file.
#pragma once

#include <string>

#include "train/history.h"
#include "train/running_job.h"

namespace plimsoll::train {

// In the metadata, under "format".
inline constexpr const char* kCheckpointFormat = "plimsoll-checkpoint-1";

// "<run_dir>/checkpoints/last.safetensors"
std::string checkpoint_path(const std::string& run_dir);

// Written beside, synced and renamed; streams from the arena without a copy.
// `examples` are those of the training set.
Status save_checkpoint(const std::string& path, RunningJob& job,
                       std::int64_t examples, const History& history);

// The checkpoint must be of the same job, with every state of its type:
// otherwise nothing is changed and the error names what differs. The number of
// epochs is the job's own, and so is the learning rate unless it is said to be
// the checkpoint's.
enum class RateOf { job, checkpoint };
Result<History> load_checkpoint(const std::string& path, RunningJob& job,
                                std::int64_t examples,
                                RateOf rate = RateOf::job);

}  // namespace plimsoll::train
