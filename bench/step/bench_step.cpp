// The whole training step beside its floor: the same program's bare products
// and bare updates, launched alone. Both take turns in one run, so that
// whatever else the machine does is shared; the best round of each counts.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <vector>

#include "device/cpu/process_memory.h"
#include "step/bench_job.h"
#include "train/calibration.h"
#include "train/fit.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

class StepBench {
 public:
  StepBench(const BenchJob& bench, int threads)
      : bench_(bench),
        job_(spec_of(bench)),
        features_(features_of(bench)),
        labels_(labels_of(bench)) {
    machine_ =
        std::make_unique<train::Machine>(*train::cpu_profile(threads, ""));
  }

  Status open() {
    PLIMSOLL_ASSIGN(data_, data_over(bench_, job_, machine_->profile().threads,
                                     features_, labels_));
    PLIMSOLL_ASSIGN(planned_, train::plan_programs(job_, data_, *machine_));
    PLIMSOLL_ASSIGN(running_,
                    train::RunningJob::open(job_, planned_, data_, *machine_));
    for (const runtime::Launch& launch : running_->programs()[0]->launches()) {
      const auto& step =
          planned_.programs[0].lowered.instructions[static_cast<std::size_t>(
              launch.instruction)];
      const bool bare =
          step.op->name == "matmul" || step.op->name.starts_with("adam");
      if (bare) floor_.push_back(launch);
    }
    return {};
  }

  // Seconds of one step, over one pass of the data.
  Result<double> time_steps() {
    data::BatchFeeder& feeder = *running_->feeder(train::Stage::train);
    PLIMSOLL_RETURN_IF_ERROR(feeder.start({}));
    std::int64_t steps = 0;
    const auto start = Clock::now();
    while (true) {
      auto batch = feeder.next();
      if (!batch) return std::move(batch).error();
      if (batch->examples == 0) break;
      PLIMSOLL_RETURN_IF_ERROR(running_->step(train::Stage::train, *batch));
      feeder.release(batch->slot);
      ++steps;
    }
    return std::chrono::duration<double>(Clock::now() - start).count() /
           static_cast<double>(steps);
  }

  // Seconds of the bare products and updates of one step, over fresh batches.
  double time_floor() {
    runtime::Program& program = *running_->programs()[0];
    const std::int64_t steps = bench_.examples / job_.train.batch;
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < steps; ++i) {
      program.bind_input(
          0, features_.data() + i * job_.train.batch * bench_.widths.front());
      for (const runtime::Launch& launch : floor_) {
        launch.kernel->launch({launch.inputs, launch.outputs, launch.scratch});
      }
    }
    return std::chrono::duration<double>(Clock::now() - start).count() /
           static_cast<double>(steps);
  }

  // Mean seconds of each instruction, in order: where the step goes.
  std::string profile() {
    std::string text;
    runtime::Program& program = *running_->programs()[0];
    const std::int64_t steps = bench_.examples / job_.train.batch;
    std::vector<double> seconds(program.launches().size(), 0);
    for (std::int64_t i = 0; i < steps; ++i) {
      program.bind_input(
          0, features_.data() + i * job_.train.batch * bench_.widths.front());
      for (std::size_t k = 0; k < seconds.size(); ++k) {
        const runtime::Launch& launch = program.launches()[k];
        const auto start = Clock::now();
        launch.kernel->launch({launch.inputs, launch.outputs, launch.scratch});
        seconds[k] +=
            std::chrono::duration<double>(Clock::now() - start).count();
      }
    }
    for (std::size_t k = 0; k < seconds.size(); ++k) {
      const auto& step =
          planned_.programs[0].lowered.instructions[static_cast<std::size_t>(
              program.launches()[k].instruction)];
      text += fmt::format("{:9.2f} us  {:<36} {}\n",
                          seconds[k] / static_cast<double>(steps) * 1e6,
                          step.name, step.kernel.name);
    }
    return text;
  }

  train::Machine& machine() { return *machine_; }
  std::int64_t batch() const { return job_.train.batch; }

 private:
  const BenchJob& bench_;
  train::JobSpec job_;
  std::vector<float> features_;
  std::vector<float> labels_;
  std::unique_ptr<train::Machine> machine_;
  train::JobData data_;
  train::PlannedJob planned_;
  std::unique_ptr<train::RunningJob> running_;
  std::vector<runtime::Launch> floor_;
};

int fail(const Error& error) {
  fmt::print(stderr, "{}\n", error.message);
  return 1;
}

int run(const BenchJob& bench, int threads, double seconds, bool json) {
  StepBench step_bench(bench, threads);
  if (const Status opened = step_bench.open(); !opened) {
    return fail(opened.error());
  }
  double step = 1e9;
  double floor = 1e9;
  std::string profile;
  Status status;
  step_bench.machine().threads().enter([&] {
    const auto start = Clock::now();
    while (Clock::now() - start < std::chrono::duration<double>(seconds)) {
      auto timed = step_bench.time_steps();
      if (!timed) {
        status = std::move(timed).error();
        return;
      }
      step = std::min(step, *timed);
      floor = std::min(floor, step_bench.time_floor());
    }
    profile = step_bench.profile();
  });
  if (!status) return fail(status.error());
  const auto memory = read_process_status(getpid());
  const std::int64_t peak = memory ? memory->peak_rss_bytes : 0;
  const double rate = static_cast<double>(step_bench.batch()) / step;
  if (json) {
    fmt::print(
        "{{\"job\": \"{}\", \"examples_per_second\": {:.1f}, "
        "\"step_seconds\": {:.4e}, \"floor_seconds\": {:.4e}, "
        "\"rss_peak_bytes\": {}, \"threads\": {}}}\n",
        bench.name, rate, step, floor, peak,
        step_bench.machine().threads().size());
    return 0;
  }
  fmt::print(
      "{}: {:.2f} us a step, {:.0f} examples/s; floor {:.2f} us, ratio "
      "{:.2f}; {} threads; peak {:.1f} MiB\n{}",
      bench.name, step * 1e6, rate, floor * 1e6, step / floor,
      step_bench.machine().threads().size(),
      static_cast<double>(peak) / (1 << 20), profile);
  return 0;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  CLI::App app("The training step against its floor");
  std::string name;
  int threads = 0;
  double seconds = 3;
  bool json = false;
  app.add_option("--job", name, "mlp1000 or linear100; both by default");
  app.add_option("--threads", threads, "0: all usable cores");
  app.add_option("--seconds", seconds, "how long to measure each job");
  app.add_flag("--json", json);
  CLI11_PARSE(app, argc, argv);
  for (const plimsoll::BenchJob& bench : plimsoll::bench_jobs()) {
    if (!name.empty() && name != bench.name) continue;
    if (const int code = plimsoll::run(bench, threads, seconds, json)) {
      return code;
    }
  }
  return 0;
}
