#include "train/trainer.h"

#include <fmt/core.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/units.h"
#include "device/cpu/process_memory.h"
#include "plan/search.h"
#include "train/calibration.h"
#include "train/plan_report_json.h"
#include "train/remedies.h"
#include "train/report.h"
#include "train/training_run.h"

namespace plimsoll::train {
namespace {

constexpr std::int64_t kLargestBatch = 65536;

struct Workplace {
  std::unique_ptr<Machine> machine;
  SystemMemory system;
  Budget budget;
};

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

// The CPU has no memory of its own, but a wrong size is wrong all the same.
Status check_device_memory(const JobSpec& job, const RunOptions& options) {
  const std::pair<const char*, const std::optional<std::string>*> said[] = {
      {"--device-memory", &options.device_memory_flag},
      {"PLIMSOLL_DEVICE_MEMORY", &options.device_memory_env},
      {"memory.device", &job.memory.device}};
  for (const auto& [name, text] : said) {
    if (!text->has_value() || (*text)->empty()) continue;
    if (const auto size = parse_size(**text, kGiB); !size) {
      return Error{ErrorCode::bad_input,
                   fmt::format("{}: {}", name, size.error().message)};
    }
  }
  return {};
}

Result<Workplace> open_workplace(const JobSpec& job,
                                 const RunOptions& options) {
  if (options.device != "cpu") {
    return Error{ErrorCode::bad_input,
                 fmt::format("--device {}: this version has the device `cpu` "
                             "only",
                             options.device)};
  }
  if (options.device_profile) {
    return Error{ErrorCode::bad_input,
                 fmt::format("--device-profile {}: this version ships no "
                             "device profiles",
                             *options.device_profile)};
  }
  PLIMSOLL_RETURN_IF_ERROR(check_device_memory(job, options));
  Workplace place;
  PLIMSOLL_ASSIGN(place.system, read_system_memory());
  PLIMSOLL_ASSIGN(place.budget, resolve_host_budget(
                                    {options.host_memory_flag,
                                     options.host_memory_env, job.memory.host},
                                    place.system));
  PLIMSOLL_ASSIGN(DeviceProfile profile,
                  cpu_profile(options.threads, options.calibrator));
  // What the line leaves beside the process itself; the allowance covers a
  // small graph at the tightest budget.
  const std::int64_t room = place.budget.bytes - profile.runtime_floor_bytes;
  place.machine = std::make_unique<Machine>(std::move(profile));
  place.machine->set_planning_cap(std::max(room, kAllowanceBytes));
  return place;
}

Status add_limits_and_remedies(const JobSpec& job, const PlannedJob& planned,
                               const JobData& data, Workplace& place,
                               PlanReport& report) {
  const auto fits = [&](std::int64_t batch) -> Result<bool> {
    JobSpec other = job;
    other.train.batch = batch;
    const auto weight = weigh(other, data, *place.machine);
    // Past the pipeline's share.
    if (!weight && weight.error().code == ErrorCode::does_not_fit) return false;
    if (!weight) return weight.error();
    return weight->host_peak_bytes <= place.budget.bytes;
  };
  PLIMSOLL_ASSIGN(report.host_exhausts_at,
                  plan::smallest_failing(1, kLargestBatch, fits));
  if (!report.fits || report.host_exhausts_at) report.first_to_exhaust = "host";
  if (!report.fits) {
    std::int64_t most = place.system.available_bytes;
    for (const SystemLimit& limit : place.system.limits) {
      most = std::min(most, limit.bytes);
    }
    const JobWeight now{
        planned.plan.host.peak_bytes,
        planned.step_seconds / static_cast<double>(job.train.batch)};
    PLIMSOLL_ASSIGN(
        report.remedies,
        find_remedies(job, now, {place.budget.bytes, most}, *place.machine));
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
  PLIMSOLL_ASSIGN(const PlannedJob planned,
                  plan_programs(job, data, *place.machine));
  PlanReport report = report_on(job, planned, place.budget);
  PLIMSOLL_RETURN_IF_ERROR(
      add_limits_and_remedies(job, planned, data, place, report));
  if (report.fits && !data.resident) {
    PLIMSOLL_ASSIGN(report.pipeline,
                    explain_input(job, data, planned, *place.machine));
    report.input_seconds = report.pipeline->batch_seconds;
    report.step_seconds =
        report.pipeline->readers > 0
            ? std::max(report.input_seconds, report.compute_seconds)
            : report.input_seconds + report.compute_seconds;
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
    rows.push_back(
        {value, weight.host_peak_bytes,
         weight.host_peak_bytes <= place.budget.bytes,
         weight.seconds_per_example * static_cast<double>(other.train.batch)});
    if (value == to) break;
    value = value > to / 2 ? to : value * 2;
  }
  return rows;
}

Result<TrainOutcome> train_job(const JobSpec& job, const RunOptions& options,
                               const TrainRequest& request) {
  PLIMSOLL_ASSIGN(Workplace place, open_workplace(job, options));
  PLIMSOLL_ASSIGN(JobData data,
                  open_data(job, place.machine->profile().threads));
  PLIMSOLL_ASSIGN(PlannedJob planned, plan_programs(job, data, *place.machine));
  std::string plan_json;
  {
    PlanReport report = report_on(job, planned, place.budget);
    PLIMSOLL_RETURN_IF_ERROR(
        add_limits_and_remedies(job, planned, data, place, report));
    if (!report.fits) {
      return Error{ErrorCode::does_not_fit, refusal_text(report)};
    }
    plan_json = to_json(report, true);
  }
  const auto planning = read_process_status(getpid());
  // Planning's garbage goes back to the system before memory is committed.
  malloc_trim(0);
  warm_heap();
  auto outcome = TrainingRun(job, request, *place.machine, place.budget.bytes,
                             std::move(planned), std::move(data))
                     .run(plan_json);
  if (outcome && planning) {
    outcome->planning_peak_bytes = planning->peak_rss_bytes;
  }
  return outcome;
}

}  // namespace plimsoll::train
