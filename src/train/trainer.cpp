#include "train/trainer.h"

#include <fmt/core.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "device/cpu/process_memory.h"
#include "device/device_name.h"
#include "train/cuda_profile.h"
#include "train/exhaustion.h"
#include "train/plan_report_json.h"
#include "train/remedies.h"
#include "train/report.h"
#include "train/reserve.h"
#include "train/training_run.h"
#include "train/unguarded.h"
#include "train/workplace.h"

namespace plimsoll::train {
namespace {

// Log lines and histories are small, but a heap that is at its end would take
// a fresh page for them in the middle of a job: some room is made beforehand,
// touched, and kept.
void warm_heap() {
  constexpr std::size_t kBlockBytes = 32 * 1024;
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  std::array<void*, 16> blocks{};
  for (void*& block : blocks) {
    block = std::malloc(kBlockBytes);
    if (block != nullptr) std::memset(block, 1, kBlockBytes);
  }
  for (void* block : blocks) std::free(block);
}

Status add_limits_and_remedies(const JobSpec& job, const PlannedJob& planned,
                               const JobData& data, Workplace& place,
                               PlanReport& report) {
  PLIMSOLL_RETURN_IF_ERROR(find_exhaustion(job, data, *place.machine, report));
  if (!report.fits) {
    PLIMSOLL_ASSIGN(report.remedies,
                    find_remedies(job, weight_of(job, planned),
                                  limits_of(place, {}), *place.machine));
  }
  if (report.fits || !report.remedies.empty()) {
    for (Remedy& remedy : advice_on_data(job, data)) {
      report.remedies.push_back(std::move(remedy));
    }
  }
  return {};
}

}  // namespace

Result<PlanReport> plan_job(const JobSpec& job, const RunOptions& options) {
  PLIMSOLL_ASSIGN(Workplace place, open_workplace(job, options));
  PLIMSOLL_ASSIGN(const JobData data,
                  open_data(job, place.machine->profile().threads));
  PLIMSOLL_ASSIGN(PlannedJob planned, plan_programs(job, data, *place.machine));
  reserve_rest(place, {}, planned);
  PlanReport report =
      report_on(job, planned, place.budget, place.device_budget);
  PLIMSOLL_RETURN_IF_ERROR(
      add_limits_and_remedies(job, planned, data, place, report));
  if (report.fits && !data.resident) {
    PLIMSOLL_ASSIGN(report.pipeline,
                    explain_input(job, data, planned, *place.machine));
    report.input_seconds = report.pipeline->batch_seconds;
    report.step_seconds =
        step_seconds(report.pipeline->readers > 0, report.input_seconds,
                     report.copy_seconds, report.compute_seconds);
  }
  return report;
}

Result<std::vector<SweepRow>> sweep_job(const JobSpec& job,
                                        const RunOptions& options,
                                        const std::string& key,
                                        std::int64_t from, std::int64_t to) {
  if (key != "batch" && key != "examples") {
    return Error{ErrorCode::bad_input,
                 fmt::format("--sweep {}: sweep over batch or examples", key)};
  }
  if (from < 1 || to < from) {
    return Error{ErrorCode::bad_input,
                 fmt::format("--sweep {}={}:{}: the range must start at 1 or "
                             "above and not end before it starts",
                             key, from, to)};
  }
  if (key == "examples" && job.data.source.name != "random") {
    return Error{ErrorCode::bad_input,
                 "--sweep examples: the number of examples of files is fixed; "
                 "sweep over a random source"};
  }
  PLIMSOLL_ASSIGN(Workplace place, open_workplace(job, options));
  std::vector<SweepRow> rows;
  for (std::int64_t value = from;;) {
    JobSpec other = job;
    if (key == "batch") {
      other.train.batch = value;
    } else {
      other.data.source.options["examples"] = value;
    }
    PLIMSOLL_ASSIGN(const JobWeight weight, weigh(other, *place.machine));
    SweepRow row{
        value, weight.host_peak_bytes,
        weight.host_peak_bytes <= place.budget.bytes,
        weight.seconds_per_example * static_cast<double>(other.train.batch),
        std::nullopt};
    if (place.device_budget) {
      row.device_peak_bytes = weight.device_peak_bytes;
      row.fits =
          row.fits && weight.device_peak_bytes <= place.device_budget->bytes;
    }
    rows.push_back(row);
    if (value == to) break;
    value = value > to / 2 ? to : value * 2;
  }
  return rows;
}

Result<TrainOutcome> train_job(const JobSpec& job, const RunOptions& options,
                               const TrainRequest& request) {
  if (options.device_profile) {
    return Error{ErrorCode::bad_input,
                 fmt::format("--device-profile {}: a shipped profile plans "
                             "only; train with --device",
                             *options.device_profile)};
  }
  PLIMSOLL_ASSIGN(Workplace place, open_workplace(job, options));
  PLIMSOLL_ASSIGN(JobData data,
                  open_data(job, place.machine->profile().threads));
  PLIMSOLL_ASSIGN(PlannedJob planned, plan_programs(job, data, *place.machine));
  reserve_rest(place, {}, planned);
  std::string plan_json;
  bool fits = true;
  {
    PlanReport report =
        report_on(job, planned, place.budget, place.device_budget);
    PLIMSOLL_RETURN_IF_ERROR(
        add_limits_and_remedies(job, planned, data, place, report));
    if (!report.fits && !unguarded()) {
      return Error{ErrorCode::does_not_fit, refusal_text(report)};
    }
    fits = report.fits;
    plan_json = to_json(report, true);
  }
  if (const DeviceProfile* device = place.machine->device_profile();
      device && !device->note.empty() && request.on_note) {
    request.on_note(device->note);
  }
  const auto planning = read_process_status(getpid());
  // Planning's garbage goes back to the system before memory is committed.
  malloc_trim(0);
  warm_heap();
  if (place.device_budget) {
    PLIMSOLL_ASSIGN(const int ordinal, cuda_ordinal(options.device));
    PLIMSOLL_RETURN_IF_ERROR(
        place.machine->open_device(ordinal, options.compiler));
  }
  Line line{place.budget.bytes,
            place.device_budget ? place.device_budget->bytes : 0};
  Ballast ballast;
  if (!fits) {
    ballast = leave_room(line, planned.plan, *place.machine);
    line = no_line();
  }
  auto outcome = TrainingRun(job, request, *place.machine, line,
                             std::move(planned), std::move(data))
                     .run(plan_json);
  if (outcome && planning) {
    outcome->planning_peak_bytes = planning->peak_rss_bytes;
  }
  return outcome;
}

}  // namespace plimsoll::train
