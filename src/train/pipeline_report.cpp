// What a plan says about its input.
#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "train/report.h"

namespace plimsoll::train {
namespace {

std::string rate_text(double seconds) {
  if (seconds <= 0) return "-";
  const double rate = 1 / seconds;
  if (rate >= 1e6) return fmt::format("{:.1f}M/s", rate * 1e-6);
  if (rate >= 1e3) return fmt::format("{:.1f}k/s", rate * 1e-3);
  return fmt::format("{:.1f}/s", rate);
}

std::string time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.0f} µs", seconds * 1e6)
                        : fmt::format("{:.1f} ms", seconds * 1e3);
}

std::string plural(int count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

Result<PipelineReport> explain_input(const JobSpec& job, const JobData& data,
                                     const PlannedJob& planned,
                                     Machine& machine) {
  const int cores = machine.profile().threads;
  PipelineReport report;
  if (data.costs[0]) {
    report.cost = *data.costs[0];
  } else {
    PLIMSOLL_ASSIGN(
        report.cost,
        data::measure_pipeline(data.openers[0], job.data.pipeline,
                               pipeline_options(job, Stage::train, cores)));
  }
  const Feed& feed = planned.feed(Stage::train);
  report.step_seconds = std::max(planned.compute_seconds, planned.copy_seconds);
  report.reason = feed.reason;
  fill_report(feed.layout, data.input(Stage::train).input, job, cores, report);
  return report;
}

void fill_report(const data::FeederLayout& layout, const data::Input& input,
                 const JobSpec& job, int cores, PipelineReport& report) {
  report.readers = layout.readers;
  report.slots = layout.slots;
  report.staging_bytes = layout.slots * layout.slot_bytes;
  report.pipeline_bytes = layout.total_bytes - report.staging_bytes;
  report.share_bytes = job.data.share_bytes;
  // A stream's maps run on the workers, a set's on its readers.
  const int threads = input.stream ? cores : std::max(report.readers, 1);
  report.batch_seconds = report.cost.seconds() *
                         static_cast<double>(job.train.batch) /
                         std::min(threads, report.cost.useful_threads(cores));
}

std::string pipeline_text(const PipelineReport& report) {
  std::string text = "the input, stage by stage\n";
  const double all = report.cost.seconds();
  for (const data::StageCost& stage : report.cost.stages) {
    text += fmt::format("  {:<14}{:>11} {:>10}{:>6.0f} %{}\n", stage.name,
                        stage.bytes > 0 ? format_bytes(stage.bytes) : "-",
                        rate_text(stage.seconds),
                        all > 0 ? 100 * stage.seconds / all : 0,
                        stage.busy < 0.5 ? "  waiting" : "");
  }
  text += fmt::format("  {:<14}{:>11}\n", "batch",
                      format_bytes(report.staging_bytes));
  const bool slow = report.batch_seconds > report.step_seconds;
  text += fmt::format("{}, {}: {} a batch; ", plural(report.readers, "reader"),
                      plural(report.slots, "slot"),
                      time_text(report.batch_seconds));
  if (report.step_seconds > 0) {
    text +=
        fmt::format("{} waits for {}, and ", slow ? "training" : "the input",
                    slow ? "the input" : "training");
  }
  text += fmt::format("`{}` takes the most.\n",
                      report.cost.stages[report.cost.slowest()].name);
  if (!report.reason.empty()) text += "Tuned: " + report.reason + ".\n";
  return text;
}

}  // namespace plimsoll::train
