#include "train/training_run.h"

#include <filesystem>

#include "train/checkpoint.h"

namespace plimsoll::train {
namespace {

// Epochs can be short: a checkpoint at most this often, and at the end.
constexpr std::chrono::seconds kCheckpointInterval(60);

}  // namespace

Result<TrainOutcome> TrainingRun::run(const std::string& plan_json) {
  machine_.ledger().set_limit(Space::host, host_budget_bytes_);
  History start;
  const std::string checkpoint = checkpoint_path(request_.run_dir);
  const bool resuming = request_.resume && std::filesystem::exists(checkpoint);
  if (!request_.run_dir.empty()) {
    PLIMSOLL_ASSIGN(folder_, RunDirectory::create(request_.run_dir, resuming));
    PLIMSOLL_RETURN_IF_ERROR(folder_->write_plan(plan_json));
  }
  PLIMSOLL_ASSIGN(running_, RunningJob::open(job_, planned_, data_, machine_));
  if (resuming) {
    PLIMSOLL_ASSIGN(start, load_checkpoint(checkpoint, *running_));
  }
  saved_at_ = std::chrono::steady_clock::now();
  FitHooks hooks;
  hooks.on_progress = request_.on_progress;
  hooks.stop = request_.stop;
  hooks.on_epoch = [&](const FitRecord& record, const Progress& progress) {
    return finish_epoch(record, progress);
  };
  PLIMSOLL_ASSIGN(const FitRecord record,
                  fit(job_, *running_, data_, machine_, host_budget_bytes_,
                      std::move(start), hooks));
  TrainOutcome outcome;
  outcome.steps = record.history.steps;
  outcome.stopped = record.stopped;
  outcome.run_dir = request_.run_dir;
  outcome.summary_json =
      summary_json(planned_.plan, record, machine_.host().peak_mapped_bytes(),
                   running_->recorded_height_bytes());
  if (folder_) {
    PLIMSOLL_RETURN_IF_ERROR(folder_->write_summary(outcome.summary_json));
  }
  return outcome;
}

Status TrainingRun::finish_epoch(const FitRecord& record,
                                 const Progress& progress) {
  if (!folder_) return {};
  const auto now = std::chrono::steady_clock::now();
  const bool last = record.history.epoch == job_.train.epochs;
  if (record.stopped || last || now - saved_at_ >= kCheckpointInterval) {
    PLIMSOLL_RETURN_IF_ERROR(save_checkpoint(checkpoint_path(request_.run_dir),
                                             *running_, record.history));
    saved_at_ = now;
  }
  return folder_->log_epoch(record, progress);
}

}  // namespace plimsoll::train
