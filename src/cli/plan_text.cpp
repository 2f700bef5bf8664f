#include "cli/plan_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/units.h"
#include "train/report.h"

namespace plimsoll::cli {
namespace {

constexpr std::int64_t kLargestBatchTried = 65536;

// One memory of a plan, as people are told of it.
struct SpaceView {
  const char* name;
  const plan::SpaceForecast* forecast;
  const Budget* budget;
  std::int64_t allowance_bytes;
  std::optional<std::int64_t> exhausts_at;
};

std::vector<SpaceView> spaces_of(const train::PlanReport& report) {
  std::vector<SpaceView> spaces = {{"host", &report.plan.host,
                                    &report.host_budget, report.allowance_bytes,
                                    report.host_exhausts_at}};
  if (report.plan.device && report.device_budget) {
    spaces.push_back({"device", &*report.plan.device, &*report.device_budget,
                      report.device_allowance_bytes,
                      report.device_exhausts_at});
  }
  return spaces;
}

std::string verdict(const train::PlanReport& report) {
  if (!report.fits && !report.refusal.empty())
    return fmt::format("does not fit: {}", report.refusal);
  const std::string kind = report.exact ? "" : " at most (an estimate)";
  std::string text = report.fits ? "fits: " : "does not fit: ";
  const char* between = "";
  for (const SpaceView& space : spaces_of(report)) {
    const std::int64_t peak = space.forecast->peak_bytes;
    const std::int64_t budget = space.budget->bytes;
    text += fmt::format("{}{} memory {} at {}{} of {}", between, space.name,
                        report.fits ? "peaks" : "would peak",
                        format_bytes(peak), kind, format_bytes(budget));
    if (report.fits)
      text += fmt::format(", {} to spare", format_bytes(budget - peak));
    between = "; ";
  }
  return text;
}

std::string accounts_table(const SpaceView& space) {
  std::string text = fmt::format("{} memory at its peak\n", space.name);
  const auto row = [&](std::string_view name, std::int64_t bytes,
                       std::string_view remark) {
    text += fmt::format("  {:<12}{:>12}{:>22}{}{}\n", name, format_bytes(bytes),
                        format_exact_bytes(bytes), remark.empty() ? "" : "  ",
                        remark);
  };
  for (int i = 0; i < kPurposes; ++i) {
    const std::int64_t bytes =
        space.forecast->accounts[static_cast<std::size_t>(i)];
    if (bytes == 0) continue;
    const auto purpose = static_cast<Purpose>(i);
    std::string remark;
    if (purpose == Purpose::runtime && space.allowance_bytes > 0) {
      remark =
          fmt::format("with {} allowance", format_bytes(space.allowance_bytes));
    }
    if (purpose == Purpose::cache) remark = "reserved: growth is off";
    row(name_of(purpose), bytes, remark);
  }
  row("peak", space.forecast->peak_bytes, "");
  row("budget", space.budget->bytes, "from " + space.budget->source);
  return text;
}

// "Device memory runs out first, at batch 9; host memory at batch 700."
std::string exhaustion(const train::PlanReport& report) {
  std::vector<SpaceView> spaces = spaces_of(report);
  std::stable_sort(spaces.begin(), spaces.end(),
                   [](const SpaceView& a, const SpaceView& b) {
                     return a.exhausts_at.value_or(kLargestBatchTried + 1) <
                            b.exhausts_at.value_or(kLargestBatchTried + 1);
                   });
  std::string text;
  bool first = true;
  for (const SpaceView& space : spaces) {
    text += fmt::format("{}{} memory", first ? "" : "; ", space.name);
    if (space.exhausts_at) {
      text += fmt::format("{} at batch {}", first ? " runs out first," : "",
                          format_count(*space.exhausts_at));
    } else {
      text += fmt::format(" lasts for every batch up to {}",
                          format_count(kLargestBatchTried));
    }
    first = false;
  }
  text[0] = static_cast<char>(std::toupper(text[0]));
  return text + ".\n";
}

std::string choices_text(const train::PlanReport& report) {
  const train::Choices& choices = report.choices;
  std::string text = fmt::format("A step takes {} examples",
                                 format_count(choices.micro_batch));
  if (choices.accumulation_steps > 1) {
    text +=
        fmt::format(", {} times before the update", choices.accumulation_steps);
  }
  text += fmt::format(" in {}", choices.precision);
  if (choices.prefetch_batches > 0) {
    text += fmt::format(", {} batch{} fetched ahead", choices.prefetch_batches,
                        choices.prefetch_batches == 1 ? "" : "es");
  }
  if (choices.recomputed_ops > 0)
    text += fmt::format(", {} ops recomputed", choices.recomputed_ops);
  if (choices.offloaded_bytes > 0)
    text +=
        fmt::format(", {} offloaded", format_bytes(choices.offloaded_bytes));
  text += choices.numerics == "bitwise"
              ? "; the budget does not change the result by a bit.\n"
              : "; the result differs from the unlimited one by rounding.\n";
  if (report.step_seconds > 0) {
    text += fmt::format("Time: {} a step (input {}, copy {}, compute {}).\n",
                        format_seconds(report.step_seconds),
                        format_seconds(report.input_seconds),
                        format_seconds(report.copy_seconds),
                        format_seconds(report.compute_seconds));
  }
  return text;
}

std::string effect(const train::Remedy& remedy) {
  std::string text;
  if (remedy.host_bytes_saved > 0)
    text = fmt::format("saves {} of host memory",
                       format_bytes(remedy.host_bytes_saved));
  if (remedy.device_bytes_saved > 0) {
    text += fmt::format("{}saves {} on the device", text.empty() ? "" : ", ",
                        format_bytes(remedy.device_bytes_saved));
  }
  if (std::abs(remedy.slowdown - 1) >= 0.005) {
    text += fmt::format("{}takes {:.2f} times as long",
                        text.empty() ? "" : ", ", remedy.slowdown);
  }
  return text.empty() ? "" : " (" + text + ")";
}

}  // namespace

std::string format_count(std::int64_t count) {
  std::string text = format_exact_bytes(count);
  return text.substr(0, text.size() - 2);
}

std::string format_seconds(double seconds) {
  if (seconds <= 0) return "0 s";
  if (seconds < 1e-3) return fmt::format("{:.0f} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.1f} s", seconds);
}

std::string remedies_text(const std::string& typed,
                          const train::PlanReport& report) {
  if (report.remedies.empty()) return "";
  std::string text = report.fits ? "What would leave more room:\n"
                                 : "What would make it fit:\n";
  for (const train::Remedy& remedy : report.remedies) {
    text += fmt::format("  - {}{}\n", remedy.change, effect(remedy));
    if (!remedy.apply.empty())
      text += fmt::format("      {} {}\n", typed, remedy.apply);
  }
  return text;
}

std::string plan_text(const std::string& job_path, const std::string& typed,
                      const train::PlanReport& report) {
  std::string text = fmt::format("{}: {}\n\n", job_path, verdict(report));
  for (const SpaceView& space : spaces_of(report)) {
    text += accounts_table(space) + "\n";
  }
  if (report.pipeline) text += train::pipeline_text(*report.pipeline) + "\n";
  text += exhaustion(report);
  text += choices_text(report);
  for (const std::string& note : report.notes) text += note + "\n";
  const std::string remedies = remedies_text(typed, report);
  if (!remedies.empty()) text += "\n" + remedies;
  return text;
}

std::string budgets_text(const train::PlanReport& report) {
  std::string text;
  for (const SpaceView& space : spaces_of(report)) {
    text += fmt::format("{}{} budget {}, from {}", text.empty() ? "" : "; ",
                        space.name, format_bytes(space.budget->bytes),
                        space.budget->source);
  }
  return text;
}

std::string sweep_text(const Sweep& sweep,
                       const std::vector<train::SweepRow>& rows) {
  const bool device = !rows.empty() && rows[0].device_peak_bytes;
  const auto line = [&](const std::string& value, const std::string& host,
                        const std::string& on_device, const char* fits,
                        const std::string& step) {
    // µ is two bytes in one column, which fmt counts rightly.
    return fmt::format("{:>12}{:>14}{}{:>10}{:>12}\n", value, host,
                       device ? fmt::format("{:>14}", on_device) : "", fits,
                       step);
  };
  std::string text =
      line(sweep.key, "host peak", "device peak", "fits", "step");
  for (const train::SweepRow& row : rows) {
    text += line(format_count(row.value), format_bytes(row.host_peak_bytes),
                 format_bytes(row.device_peak_bytes.value_or(0)),
                 row.fits ? "yes" : "no", format_seconds(row.step_seconds));
  }
  return text;
}

}  // namespace plimsoll::cli
