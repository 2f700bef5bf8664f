#include "cli/watch.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "device/cpu/child_process.h"
#include "device/cpu/memory_trend.h"
#include "device/cpu/process_tree.h"

namespace plimsoll::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kFirstInterval = milliseconds(2);
constexpr auto kInterval = milliseconds(20);
constexpr auto kFirstPhase = std::chrono::seconds(1);
// Walking a large process's pages may take this part of the time at most.
constexpr int kExactShare = 20;

double seconds_of(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

class Watcher {
 public:
  explicit Watcher(const WatchOptions& options)
      : options_(options), tree_(getpid(), /*with_root=*/false) {}

  void sample() {
    const auto begin = Clock::now();
    const bool exact = begin >= next_exact_;
    const TreeSample now = tree_.sample(exact);
    if (exact) {
      const auto end = Clock::now();
      next_exact_ = end + (end - begin) * kExactShare;
    }
    if (now.processes == 0) return;
    ++samples_;
    last_bytes_ = now.bytes();
    peak_swap_bytes_ = std::max(peak_swap_bytes_, now.swap_bytes);
    peak_processes_ = std::max(peak_processes_, now.processes);
    note_peak(now.high_bytes, now.high_rss_bytes);
    trend_.add(seconds_of(begin - start_), now.bytes());
  }

  void note_peak(std::int64_t bytes, std::int64_t rss_bytes) {
    peak_bytes_ = std::max(peak_bytes_, bytes);
    peak_rss_bytes_ = std::max(peak_rss_bytes_, rss_bytes);
    if (over_line() && !warned_) {
      warned_ = true;
      fmt::print(stderr,
                 "plimsoll watch: passed the line of {} after {:.1f} s, at "
                 "{}\n",
                 format_bytes(*options_.host_memory_bytes),
                 seconds_of(Clock::now() - start_), format_bytes(peak_bytes_));
    }
  }

  std::int64_t samples() const { return samples_; }
  bool in_first_phase() const { return Clock::now() - start_ < kFirstPhase; }

  nlohmann::json report(const std::vector<std::string>& command,
                        int exit_code) const {
    nlohmann::json json = {
        {"command", command},
        {"exit_code", exit_code},
        {"seconds", seconds_of(Clock::now() - start_)},
        {"samples", samples_},
        {"peak_bytes", peak_bytes_},
        {"peak_rss_bytes", peak_rss_bytes_},
        {"peak_swap_bytes", peak_swap_bytes_},
        {"last_bytes", last_bytes_},
        {"growth_bytes_per_minute", trend_.growth_bytes_per_minute()},
        {"host_memory_bytes", nullptr},
        {"over_line", over_line()},
        {"seconds_to_line", nullptr},
        {"peak_processes", peak_processes_}};
    if (const auto line = options_.host_memory_bytes) {
      json["host_memory_bytes"] = *line;
      const auto left = over_line() ? 0.0 : trend_.seconds_until(*line);
      if (left) json["seconds_to_line"] = *left;
    }
    return json;
  }

 private:
  bool over_line() const {
    return options_.host_memory_bytes &&
           peak_bytes_ > *options_.host_memory_bytes;
  }

  const WatchOptions& options_;
  ProcessTree tree_;
  MemoryTrend trend_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_exact_ = start_;
  std::int64_t samples_ = 0;
  std::int64_t peak_bytes_ = 0;
  std::int64_t peak_rss_bytes_ = 0;
  std::int64_t peak_swap_bytes_ = 0;
  std::int64_t last_bytes_ = 0;
  int peak_processes_ = 0;
  bool warned_ = false;
};

void print_summary(const nlohmann::json& report) {
  const double growth = report["growth_bytes_per_minute"];
  std::string line;
  if (!report["host_memory_bytes"].is_null()) {
    const std::int64_t bytes = report["host_memory_bytes"];
    line = fmt::format(", {} the line of {}",
                       report["over_line"] ? "over" : "under",
                       format_bytes(bytes));
    // A few pages a minute are noise: no date is made of them.
    constexpr double kGrowth = 0.05 * kMiB;
    if (!report["over_line"] && !report["seconds_to_line"].is_null() &&
        report["growth_bytes_per_minute"].get<double>() >= kGrowth) {
      line += fmt::format(", which it would reach in {:.0f} s at this rate",
                          report["seconds_to_line"].get<double>());
    }
  }
  fmt::print(stderr,
             "plimsoll watch: peak {} in {} process{}, {:+.1f} MiB a minute at "
             "the end, {:.1f} s, exit {}{}\n",
             format_exact_bytes(report["peak_bytes"]),
             report["peak_processes"].get<int>(),
             report["peak_processes"] == 1 ? "" : "es",
             growth / static_cast<double>(kMiB),
             report["seconds"].get<double>(), report["exit_code"].get<int>(),
             line);
}

}  // namespace

int run_watch(const WatchOptions& options, std::vector<std::string> command) {
  if (command.empty()) {
    fmt::print(stderr, "plimsoll watch: no command: plimsoll watch -- CMD\n");
    return 2;
  }
  std::ofstream file;
  if (!options.json_path.empty()) {
    file.open(options.json_path);
    if (!file) {
      fmt::print(stderr, "plimsoll watch: cannot write {}\n",
                 options.json_path);
      return 1;
    }
  }
  ChildProcess child;
  std::string why;
  Watcher watcher(options);
  int exit_code = child.start(command, why);
  if (exit_code != 0) {
    fmt::print(stderr, "plimsoll watch: cannot run {}: {}\n", command[0], why);
  } else {
    std::optional<ChildEnd> end;
    while (!end) {
      watcher.sample();
      end =
          child.wait_for(watcher.in_first_phase() ? kFirstInterval : kInterval);
    }
    exit_code = end->exit_code;
    // What rose after the last sample. Smaller figures can be our own: they
    // serve only for a command that ended before it could be seen.
    if (end->peak_rss_bytes > child.inherited_rss_bytes() ||
        watcher.samples() == 0) {
      watcher.note_peak(end->peak_rss_bytes, end->peak_rss_bytes);
    }
  }
  const nlohmann::json report = watcher.report(command, exit_code);
  print_summary(report);
  if (file.is_open()) {
    file << report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
         << "\n";
    file.close();
    if (!file) {
      fmt::print(stderr, "plimsoll watch: cannot write {}\n",
                 options.json_path);
    }
  }
  return exit_code;
}

}  // namespace plimsoll::cli
