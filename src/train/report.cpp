#include "train/report.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"

namespace plimsoll::train {
namespace {

// A memory with its budget, and how people are told of it.
struct SpaceView {
  const char* name;
  const char* floor;  // what needs it before any pool
  const plan::SpaceForecast& forecast;
  const Budget& budget;
  std::optional<std::int64_t> exhausts_at;

  bool fits() const { return forecast.peak_bytes <= budget.bytes; }
};

std::vector<SpaceView> spaces_of(const PlanReport& report) {
  std::vector<SpaceView> spaces = {{"host", "the process itself needs",
                                    report.plan.host, report.host_budget,
                                    report.host_exhausts_at}};
  if (report.plan.device && report.device_budget) {
    spaces.push_back({"device", "the driver takes for the process",
                      *report.plan.device, *report.device_budget,
                      report.device_exhausts_at});
  }
  return spaces;
}

std::string refusal_of(const SpaceView& space) {
  const std::int64_t peak = space.forecast.peak_bytes;
  const std::int64_t budget = space.budget.bytes;
  // Before any pool: code, libraries, this graph and its planning.
  const std::int64_t floor =
      space.forecast.accounts[static_cast<std::size_t>(Purpose::runtime)];
  if (budget < floor) {
    return fmt::format(
        "the {} budget of {} ({}) is below what {}, {}; the whole job needs {}",
        space.name, format_bytes(budget), space.budget.source, space.floor,
        format_bytes(floor), format_bytes(peak));
  }
  std::vector<std::pair<std::int64_t, std::string_view>> largest;
  for (int i = 0; i < kPurposes; ++i) {
    largest.emplace_back(space.forecast.accounts[static_cast<std::size_t>(i)],
                         name_of(static_cast<Purpose>(i)));
  }
  std::sort(largest.rbegin(), largest.rend());
  return fmt::format(
      "the job needs {} of {} memory, {} more than its budget of {} ({}); "
      "most of it is {} ({}) and {} ({})",
      format_bytes(peak), space.name, format_bytes(peak - budget),
      format_bytes(budget), space.budget.source, largest[0].second,
      format_bytes(largest[0].first), largest[1].second,
      format_bytes(largest[1].first));
}

std::string refusal_of(const PlanReport& report) {
  std::string text;
  for (const SpaceView& space : spaces_of(report)) {
    if (space.fits()) continue;
    text += (text.empty() ? "" : "; also, ") + refusal_of(space);
  }
  return text;
}

}  // namespace

PlanReport report_on(const JobSpec& job, const PlannedJob& planned,
                     const Budget& budget,
                     const std::optional<Budget>& device_budget) {
  PlanReport report;
  report.exact = planned.exact;
  report.host_budget = budget;
  report.device_budget = device_budget;
  report.plan = planned.plan;
  const std::vector<SpaceView> spaces = spaces_of(report);
  report.fits =
      std::all_of(spaces.begin(), spaces.end(),
                  [](const SpaceView& space) { return space.fits(); });
  report.choices.micro_batch = job.train.batch;
  report.choices.accumulation_steps = job.train.accumulation_steps;
  report.choices.precision = std::string(name_of(job.train.precision));
  const auto& steps = planned.programs[0].lowered.instructions;
  report.choices.recomputed_ops = std::count_if(
      steps.begin(), steps.end(),
      [](const graph::Instruction& step) { return step.repeats; });
  // The ring also holds the batch that is being trained.
  const Feed& feed = planned.feed(Stage::train);
  report.choices.prefetch_batches =
      feed.options.readers > 0 ? std::max(feed.layout.slots - 1, 0) : 0;
  report.input_seconds = planned.input_seconds;
  report.copy_seconds = planned.copy_seconds;
  report.compute_seconds = planned.compute_seconds;
  report.step_seconds = planned.step_seconds;
  report.numerics_key = planned.numerics_key;
  report.notes = planned.graphs.notes;
  report.layers = layer_rows(job, planned);
  for (const PlannedProgram& program : planned.programs) {
    report.kernels.push_back(kernels_of(program.lowered));
  }
  report.runtime_floor_bytes = planned.needs.runtime_floor_bytes;
  report.allowance_bytes = planned.needs.allowance_bytes;
  if (const auto& device = planned.needs.device) {
    report.device_runtime_floor_bytes = device->runtime_floor_bytes;
    report.device_allowance_bytes = device->allowance_bytes;
  }
  if (!report.fits) report.refusal = refusal_of(report);
  return report;
}

std::string refusal_text(const PlanReport& report) {
  std::string text = report.refusal;
  for (const Remedy& remedy : report.remedies) {
    text += fmt::format("\n  {}{}{}", remedy.change,
                        remedy.apply.empty() ? "" : ": ", remedy.apply);
  }
  return text;
}

std::string summary_text(const PlanReport& report) {
  std::string text;
  for (const SpaceView& space : spaces_of(report)) {
    for (int i = 0; i < kPurposes; ++i) {
      const auto bytes = space.forecast.accounts[static_cast<std::size_t>(i)];
      if (bytes == 0) continue;
      text += fmt::format("{:<12} {:>18}\n", name_of(static_cast<Purpose>(i)),
                          format_exact_bytes(bytes));
    }
    text += fmt::format(
        "{:<12} {:>18}  of {} ({})\n", fmt::format("{} peak", space.name),
        format_exact_bytes(space.forecast.peak_bytes),
        format_exact_bytes(space.budget.bytes), space.budget.source);
  }
  for (const SpaceView& space : spaces_of(report)) {
    if (!space.exhausts_at) continue;
    const bool first = report.first_to_exhaust == space.name;
    text += fmt::format("{} memory runs out{} at batch {}\n", space.name,
                        first ? " first," : "", *space.exhausts_at);
  }
  return text + (report.fits ? "fits" : refusal_text(report)) + "\n";
}

}  // namespace plimsoll::train
