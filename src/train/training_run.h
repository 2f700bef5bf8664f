// One training run, from a plan that fits to its summary.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "train/fit.h"
#include "train/run_directory.h"
#include "train/running_job.h"
#include "train/trainer.h"

namespace plimsoll::train {

class TrainingRun {
 public:
  // `job`, `request` and `machine` must outlive the run.
  TrainingRun(const JobSpec& job, const TrainRequest& request, Machine& machine,
              const Line& line, PlannedJob planned, JobData data)
      : job_(job),
        request_(request),
        machine_(machine),
        line_(line),
        planned_(std::move(planned)),
        data_(std::move(data)) {}

  Result<TrainOutcome> run(const std::string& plan_json);

 private:
  Error not_opened(Error error, const std::string& plan_json);
  // For when every kernel has run: what the process holds of the host.
  Status check_host();
  Status finish_epoch(const FitRecord& record, const Progress& progress);
  // Something to tell people after this epoch, once; or empty.
  std::string note_on(const FitRecord& record, const Progress& progress);
  std::string summary(const FitRecord& record,
                      const std::string& failure) const;
  // A run that has nothing left to train.
  TrainOutcome finished(const History& history, std::string summary) const;
  std::int64_t examples() const;  // of the training set

  const JobSpec& job_;
  const TrainRequest& request_;
  Machine& machine_;
  Line line_;
  PlannedJob planned_;
  JobData data_;
  std::unique_ptr<RunDirectory> folder_;
  ScalarSink scalars_;  // may be empty
  std::unique_ptr<RunningJob> running_;
  std::chrono::steady_clock::time_point saved_at_;
  bool noted_ = false;
};

}  // namespace plimsoll::train
