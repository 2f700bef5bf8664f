#include "train/report.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"

namespace plimsoll::train {
namespace {

std::string refusal_of(const PlanReport& report) {
  const std::int64_t peak = report.plan.host.peak_bytes;
  const std::int64_t budget = report.host_budget.bytes;
  // Before any pool: code, libraries, this graph and its planning.
  const std::int64_t floor =
      report.plan.host.accounts[static_cast<std::size_t>(Purpose::runtime)];
  if (budget < floor) {
    return fmt::format(
        "the host budget of {} ({}) is below what the process itself needs, "
        "{}; the whole job needs {}",
        format_bytes(budget), report.host_budget.source, format_bytes(floor),
        format_bytes(peak));
  }
  std::vector<std::pair<std::int64_t, std::string_view>> largest;
  for (int i = 0; i < kPurposes; ++i) {
    largest.emplace_back(report.plan.host.accounts[static_cast<std::size_t>(i)],
                         name_of(static_cast<Purpose>(i)));
  }
  std::sort(largest.rbegin(), largest.rend());
  return fmt::format(
      "the job needs {} of host memory, {} more than its budget of {} ({}); "
      "most of it is {} ({}) and {} ({})",
      format_bytes(peak), format_bytes(peak - budget), format_bytes(budget),
      report.host_budget.source, largest[0].second,
      format_bytes(largest[0].first), largest[1].second,
      format_bytes(largest[1].first));
}

}  // namespace

PlanReport report_on(const JobSpec& job, const PlannedJob& planned,
                     const Budget& budget) {
  PlanReport report;
  report.host_budget = budget;
  report.plan = planned.plan;
  report.fits = planned.plan.host.peak_bytes <= budget.bytes;
  report.choices.micro_batch = job.train.batch;
  report.choices.precision = std::string(name_of(job.train.precision));
  // The ring also holds the batch that is being trained.
  const Feed& feed = planned.feed(Stage::train);
  report.choices.prefetch_batches =
      feed.options.readers > 0 ? std::max(feed.layout.slots - 1, 0) : 0;
  report.input_seconds = planned.input_seconds;
  report.compute_seconds = planned.compute_seconds;
  report.step_seconds = planned.step_seconds;
  report.numerics_key = planned.numerics_key;
  report.notes = planned.graphs.notes;
  report.runtime_floor_bytes = planned.needs.runtime_floor_bytes;
  report.allowance_bytes = planned.needs.allowance_bytes;
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
  for (int i = 0; i < kPurposes; ++i) {
    const auto bytes = report.plan.host.accounts[static_cast<std::size_t>(i)];
    if (bytes == 0) continue;
    text += fmt::format("{:<12} {:>18}\n", name_of(static_cast<Purpose>(i)),
                        format_exact_bytes(bytes));
  }
  text += fmt::format("{:<12} {:>18}  of {} ({})\n", "host peak",
                      format_exact_bytes(report.plan.host.peak_bytes),
                      format_exact_bytes(report.host_budget.bytes),
                      report.host_budget.source);
  return text + (report.fits ? "fits\n" : report.refusal + "\n");
}

}  // namespace plimsoll::train
