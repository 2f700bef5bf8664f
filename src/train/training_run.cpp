#include "train/training_run.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/units.h"
#include "device/cpu/process_memory.h"
#include "train/calibration.h"
#include "train/checkpoint.h"
#include "train/precision.h"

namespace plimsoll::train {
namespace {

// Epochs can be short: a checkpoint at most this often, and at the end.
constexpr std::chrono::seconds kCheckpointInterval(60);

// Empty when there is no such file.
std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Result<TrainOutcome> TrainingRun::run(const std::string& plan_json) {
  machine_.ledger().set_limit(Space::host, line_.host_bytes);
  if (planned_.plan.device) {
    machine_.ledger().set_limit(Space::device, line_.device_bytes);
  }
  History start;
  const std::string checkpoint = checkpoint_path(request_.run_dir);
  const bool resuming = request_.resume && std::filesystem::exists(checkpoint);
  auto opened = RunningJob::open(job_, planned_, data_, machine_);
  if (!opened) return not_opened(std::move(opened).error(), plan_json);
  running_ = *std::move(opened);
  PLIMSOLL_RETURN_IF_ERROR(check_host());
  if (planned_.plan.device) {
    PLIMSOLL_RETURN_IF_ERROR(machine_.check_device(
        line_.device_bytes, planned_.plan.device->peak_bytes));
  }
  if (resuming) {
    PLIMSOLL_ASSIGN(start, load_checkpoint(checkpoint, *running_, examples()));
    if (start.epoch >= job_.train.epochs) {
      std::string summary = read_text(summary_path(request_.run_dir));
      if (!summary.empty() && !says_failed(summary)) {
        return finished(start, std::move(summary));
      }
    }
  }
  // Only now: what is there stays as it is when the job cannot start.
  if (!request_.run_dir.empty()) {
    PLIMSOLL_ASSIGN(folder_, RunDirectory::create(request_.run_dir, resuming));
    if (request_.open_scalars) {
      PLIMSOLL_ASSIGN(scalars_, request_.open_scalars(request_.run_dir));
    }
    PLIMSOLL_RETURN_IF_ERROR(folder_->write_plan(plan_json));
  }
  // The first epoch always ends with a checkpoint, so that what writing one
  // takes is taken before memory has to stand still.
  saved_at_ = std::chrono::steady_clock::now() - kCheckpointInterval;
  FitHooks hooks;
  hooks.on_progress = request_.on_progress;
  hooks.stop = request_.stop;
  hooks.on_epoch = [&](const FitRecord& record, const Progress& progress) {
    return finish_epoch(record, progress);
  };
  hooks.on_failure = [&](const FitRecord& record, const Error& error) {
    // The error that ended training is the one to report.
    if (folder_) {
      static_cast<void>(folder_->write_summary(summary(record, error.message)));
    }
  };
  PLIMSOLL_ASSIGN(const FitRecord record, fit(job_, *running_, data_, machine_,
                                              line_, std::move(start), hooks));
  TrainOutcome outcome;
  outcome.steps = record.history.steps;
  outcome.stopped = record.stopped;
  outcome.run_dir = request_.run_dir;
  outcome.rss_peak_bytes = record.rss_peak_bytes;
  outcome.pool_peak_bytes = machine_.host().peak_mapped_bytes();
  outcome.kernel_bytes = planned_.needs.kernel_bytes;
  if (machine_.device() != nullptr) {
    outcome.device_peak_bytes = machine_.device_peak_bytes();
    outcome.device_shared = machine_.device_is_shared();
    outcome.device_pool_bytes = machine_.device()->memory().peak_mapped_bytes();
  }
  for (const PlannedProgram& program : planned_.programs) {
    outcome.instructions +=
        static_cast<std::int64_t>(program.lowered.instructions.size());
  }
  outcome.graph_values = planned_.graph_values;
  outcome.summary_json = summary(record, "");
  if (folder_) {
    PLIMSOLL_RETURN_IF_ERROR(folder_->write_summary(outcome.summary_json));
  }
  return outcome;
}

TrainOutcome TrainingRun::finished(const History& history,
                                   std::string summary) const {
  TrainOutcome outcome;
  outcome.steps = history.steps;
  outcome.run_dir = request_.run_dir;
  outcome.summary_json = std::move(summary);
  return outcome;
}

// How much of a program's files is in memory hangs on the system's cache of
// them, which may be another than when the machine was measured.
Status TrainingRun::check_host() {
  const auto process = read_process_memory(getpid());
  const std::int64_t forecast = planned_.plan.host.peak_bytes;
  if (is_sanitized() || !process || process->resident_bytes() <= forecast) {
    return {};
  }
  const bool again = machine_.profile().measured && !planned_.plan.device;
  if (again) forget_cpu_profile();
  const std::int64_t held = process->resident_bytes();
  std::string text = fmt::format(
      "the process holds {} of the host, {} more than was forecast: most "
      "likely the system has more of its files in memory than when this "
      "machine was measured",
      format_bytes(held), format_bytes(held - forecast));
  if (held <= line_.host_bytes) {
    if (again) text += "; the next plan will have measured again";
    if (request_.on_note) request_.on_note(text);
    return {};
  }
  return Error{ErrorCode::does_not_fit,
               fmt::format("{}. That is above the budget of {}: {}", text,
                           format_bytes(line_.host_bytes),
                           again ? "run it again, it will be measured again; "
                                   "where that does not help, allow more"
                                 : "allow more, or empty Plimsoll's cache, so "
                                   "that it is measured again")};
}

// A device that fails while kernels are tried leaves a summary, too; the last
// checkpoint stays.
Error TrainingRun::not_opened(Error error, const std::string& plan_json) {
  if (error.code != ErrorCode::device || request_.run_dir.empty()) {
    return error;
  }
  // An earlier run's stays, unless this one was to go on with it.
  if (!request_.resume &&
      std::filesystem::exists(summary_path(request_.run_dir))) {
    return error;
  }
  auto folder = RunDirectory::create(request_.run_dir, /*resuming=*/true);
  if (!folder) return error;
  FitRecord record;
  if (const auto process = read_process_status(getpid())) {
    record.rss_peak_bytes = process->peak_rss_bytes;
  }
  static_cast<void>((*folder)->write_plan(plan_json));
  static_cast<void>((*folder)->write_summary(summary(record, error.message)));
  return error;
}

std::int64_t TrainingRun::examples() const {
  return data_.input(Stage::train).examples();
}

std::string TrainingRun::summary(const FitRecord& record,
                                 const std::string& failure) const {
  Measured measured{machine_.host().peak_mapped_bytes(),
                    running_ ? running_->recorded_height_bytes() : 0,
                    machine_.ledger().snapshot(),
                    {},
                    {}};
  if (machine_.device() != nullptr) {
    measured.device = {machine_.device()->memory().peak_mapped_bytes(),
                       machine_.device_peak_bytes(), machine_.device_method()};
  }
  for (const auto& input : data_.inputs) {
    if (!input || !input->input.policy || !input->input.policy->skip) continue;
    measured.skipped_elements =
        measured.skipped_elements.value_or(0) + input->input.policy->skipped;
  }
  return summary_json(planned_.plan, record, measured, failure);
}

std::string TrainingRun::note_on(const FitRecord& record,
                                 const Progress& progress) {
  if (record.stopped || noted_ || std::isfinite(progress.loss)) return {};
  noted_ = true;
  return fmt::format(
      "loss is not finite after epoch {}: check labels and learning rate",
      progress.epoch);
}

Status TrainingRun::finish_epoch(const FitRecord& record,
                                 const Progress& progress) {
  const std::string note = note_on(record, progress);
  if (!note.empty() && request_.on_note) request_.on_note(note);
  if (!folder_) return {};
  const auto now = std::chrono::steady_clock::now();
  const bool last = record.history.epoch == job_.train.epochs;
  if (record.stopped || last || now - saved_at_ >= kCheckpointInterval) {
    PLIMSOLL_RETURN_IF_ERROR(save_checkpoint(checkpoint_path(request_.run_dir),
                                             *running_, examples(),
                                             record.history));
    saved_at_ = now;
  }
  // Where gradients overflow it falls, and their updates are left out.
  std::optional<double> loss_scale;
  if (!planned_.graphs.parameters.empty() &&
      needs_loss_scale(job_.model, job_.train.precision)) {
    PLIMSOLL_ASSIGN(loss_scale, running_->scalar(kLossScale));
  }
  PLIMSOLL_RETURN_IF_ERROR(
      folder_->log_epoch(record, progress, loss_scale, note));
  if (record.stopped || !scalars_) return {};
  return send_scalars(record, progress, scalars_);
}

}  // namespace plimsoll::train
