// The training loop over a running job.
#pragma once

#include <vector>

#include "device/cpu/process_memory.h"
#include "train/history.h"
#include "train/running_job.h"
#include "train/trainer.h"

namespace plimsoll::train {

struct FitRecord {
  History history;
  bool stopped = false;
  double seconds = 0;               // of the loop
  std::int64_t timed_examples = 0;  // after the first step
  double timed_seconds = 0;         // after the first step
  std::int64_t rss_peak_bytes = 0;  // the larger of VmHWM and our samples
  std::int64_t charges_after_first_step = 0;
};

// What the job must stay under.
struct Line {
  std::int64_t host_bytes = 0;
  std::int64_t device_bytes = 0;  // 0 on the CPU
};

struct FitHooks {
  // Called at most every tenth of a second, and at each epoch's end.
  std::function<void(const Progress&)> on_progress;
  // Called before an epoch's first step, with its number from 1 on.
  std::function<void(std::int64_t epoch)> on_epoch_begin;
  // Called at each epoch's end and when stopped; writes checkpoints and logs.
  std::function<Status(const FitRecord&, const Progress&)> on_epoch;
  // Called with what was reached when training fails.
  std::function<void(const FitRecord&, const Error&)> on_failure;
  const std::atomic<bool>* stop = nullptr;
  // Set by a hook at an epoch's end, or before the first: none follows.
  const bool* last_epoch = nullptr;
};

// Trains from `start` to the job's last epoch. Between hooks the loop makes no
// ledger allocation and calls no malloc.
Result<FitRecord> fit(const JobSpec& job, RunningJob& running,
                      const JobData& data, Machine& machine, const Line& line,
                      History start, const FitHooks& hooks);

}  // namespace plimsoll::train
