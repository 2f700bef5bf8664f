#include "cli/plan_text.h"

#include <fmt/core.h>

#include <cmath>

#include "base/units.h"
#include "train/report.h"

namespace plimsoll::cli {
namespace {

constexpr std::int64_t kLargestBatchTried = 65536;

std::string verdict(const train::PlanReport& report) {
  const std::int64_t peak = report.plan.host.peak_bytes;
  const std::int64_t budget = report.host_budget.bytes;
  const std::string kind = report.exact ? "" : " at most (an estimate)";
  if (report.fits) {
    return fmt::format("fits: host memory peaks at {}{} of {}, {} to spare",
                       format_bytes(peak), kind, format_bytes(budget),
                       format_bytes(budget - peak));
  }
  if (!report.refusal.empty())
    return fmt::format("does not fit: {}", report.refusal);
  return fmt::format("does not fit: host memory would peak at {}{} of {}",
                     format_bytes(peak), kind, format_bytes(budget));
}

std::string accounts_table(const train::PlanReport& report) {
  const plan::SpaceForecast& host = report.plan.host;
  std::string text = "host memory at its peak\n";
  const auto row = [&](std::string_view name, std::int64_t bytes,
                       std::string_view remark) {
    text += fmt::format("  {:<12}{:>12}{:>22}{}{}\n", name, format_bytes(bytes),
                        format_exact_bytes(bytes), remark.empty() ? "" : "  ",
                        remark);
  };
  for (int i = 0; i < kPurposes; ++i) {
    const std::int64_t bytes = host.accounts[static_cast<std::size_t>(i)];
    if (bytes == 0) continue;
    const auto purpose = static_cast<Purpose>(i);
    std::string remark;
    if (purpose == Purpose::runtime && report.allowance_bytes > 0) {
      remark = fmt::format("with {} allowance",
                           format_bytes(report.allowance_bytes));
    }
    row(name_of(purpose), bytes, remark);
  }
  row("peak", host.peak_bytes, "");
  row("budget", report.host_budget.bytes, "from " + report.host_budget.source);
  return text;
}

std::string exhaustion(const train::PlanReport& report) {
  if (report.host_exhausts_at) {
    return fmt::format("Host memory runs out first, at batch {}.\n",
                       format_count(*report.host_exhausts_at));
  }
  return fmt::format("Host memory lasts for every batch up to {}.\n",
                     format_count(kLargestBatchTried));
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
  text += accounts_table(report) + "\n";
  if (report.pipeline) text += train::pipeline_text(*report.pipeline) + "\n";
  text += exhaustion(report);
  text += choices_text(report);
  for (const std::string& note : report.notes) text += note + "\n";
  const std::string remedies = remedies_text(typed, report);
  if (!remedies.empty()) text += "\n" + remedies;
  return text;
}

std::string sweep_text(const Sweep& sweep,
                       const std::vector<train::SweepRow>& rows) {
  std::string text = fmt::format("{:>12}{:>14}{:>10}{:>12}\n", sweep.key,
                                 "host peak", "fits", "step");
  for (const train::SweepRow& row : rows) {
    // µ is two bytes in one column, which fmt counts rightly.
    text +=
        fmt::format("{:>12}{:>14}{:>10}{:>12}\n", format_count(row.value),
                    format_bytes(row.host_peak_bytes), row.fits ? "yes" : "no",
                    format_seconds(row.step_seconds));
  }
  return text;
}

}  // namespace plimsoll::cli
