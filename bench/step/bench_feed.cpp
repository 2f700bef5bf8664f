// What feeding costs: steps over arrays through shuffle and prefetch, beside
// the same steps over one batch that stays in memory. Both take turns in one
// run, so that whatever else the machine does is shared; the best turn of
// each counts.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <vector>

#include "step/bench_job.h"
#include "train/calibration.h"
#include "train/fit.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::string name;  // of the job
  int threads = 0;
  BenchPrefetch prefetch;
  std::int64_t steps = 500;  // of a turn
  double seconds = 5;
  bool json = false;
};

class FeedBench {
 public:
  FeedBench(const BenchJob& fed, const Settings& settings)
      : fed_(fed),
        job_(spec_of(fed, settings.prefetch)),
        features_(features_of(fed)),
        labels_(labels_of(fed)) {
    machine_ = std::make_unique<train::Machine>(
        *train::cpu_profile(settings.threads, ""));
  }

  Status open() {
    PLIMSOLL_ASSIGN(data_, data_over(fed_, job_, machine_->profile().threads,
                                     features_, labels_));
    PLIMSOLL_ASSIGN(planned_, train::plan_programs(job_, data_, *machine_));
    PLIMSOLL_ASSIGN(running_,
                    train::RunningJob::open(job_, planned_, data_, *machine_));
    // A copy of its own: arrays that are read at random would not stay near.
    const auto batch = static_cast<std::size_t>(job_.train.batch);
    const auto width = static_cast<std::size_t>(fed_.widths.front());
    const auto outputs = static_cast<std::size_t>(fed_.widths.back());
    kept_features_.assign(features_.data(), features_.data() + batch * width);
    kept_labels_.assign(labels_.data(), labels_.data() + batch * outputs);
    kept_.values[0].data =
        reinterpret_cast<const std::byte*>(kept_features_.data());
    kept_.values[1].data =
        reinterpret_cast<const std::byte*>(kept_labels_.data());
    return running_->feeder(train::Stage::train)->start({});
  }

  // Seconds of a step through the pipeline, which goes on from where it was.
  Result<double> time_fed(std::int64_t steps) {
    data::BatchFeeder& feeder = *running_->feeder(train::Stage::train);
    const auto start = Clock::now();
    for (std::int64_t done = 0; done < steps;) {
      PLIMSOLL_ASSIGN(const data::Batch batch, feeder.next());
      if (batch.examples == 0) {
        const std::int64_t epoch = feeder.position().epoch + 1;
        PLIMSOLL_RETURN_IF_ERROR(feeder.start({epoch, 0, {}}));
        continue;
      }
      PLIMSOLL_RETURN_IF_ERROR(running_->step(train::Stage::train, batch));
      ++done;
    }
    return seconds_since(start) / static_cast<double>(steps);
  }

  // Seconds of a step over the one batch.
  Result<double> time_kept(std::int64_t steps) {
    const data::Batch batch{-1, &kept_, job_.train.batch, 0};
    const auto start = Clock::now();
    for (std::int64_t done = 0; done < steps; ++done) {
      PLIMSOLL_RETURN_IF_ERROR(running_->step(train::Stage::train, batch));
    }
    return seconds_since(start) / static_cast<double>(steps);
  }

  train::Machine& machine() { return *machine_; }

 private:
  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  const BenchJob& fed_;
  train::JobSpec job_;
  std::vector<float> features_;
  std::vector<float> labels_;
  std::vector<float> kept_features_;
  std::vector<float> kept_labels_;
  data::Element kept_;
  std::unique_ptr<train::Machine> machine_;
  train::JobData data_;
  train::PlannedJob planned_;
  std::unique_ptr<train::RunningJob> running_;
};

Status run(const BenchJob& fed, const Settings& settings) {
  FeedBench bench(fed, settings);
  PLIMSOLL_RETURN_IF_ERROR(bench.open());
  double through = 1e9;
  double kept = 1e9;
  Status status;
  bench.machine().threads().enter([&] {
    const auto start = Clock::now();
    while (Clock::now() - start <
           std::chrono::duration<double>(settings.seconds)) {
      const auto one = bench.time_fed(settings.steps);
      const auto other = bench.time_kept(settings.steps);
      if (!one || !other) {
        status = !one ? one.error() : other.error();
        return;
      }
      through = std::min(through, *one);
      kept = std::min(kept, *other);
    }
  });
  PLIMSOLL_RETURN_IF_ERROR(status);
  const double lost = 100 * (1 - kept / through);
  if (settings.json) {
    fmt::print(
        "{{\"job\": \"{}\", \"fed_seconds\": {:.4e}, \"kept_seconds\": {:.4e}, "
        "\"lost_percent\": {:.2f}, \"threads\": {}}}\n",
        fed.name, through, kept, lost, bench.machine().threads().size());
    return {};
  }
  fmt::print(
      "{}: {:.2f} us a step through the pipeline, {:.2f} us over one batch in "
      "memory: {:.1f} % of the speed lost; {} threads, {} readers\n",
      fed.name, through * 1e6, kept * 1e6, lost,
      bench.machine().threads().size(), settings.prefetch.readers);
  return {};
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  CLI::App app("Training through the input pipeline against one batch");
  plimsoll::Settings settings;
  app.add_option("--job", settings.name,
                 "mlp1000 or linear100; by default both");
  app.add_option("--threads", settings.threads, "0: all usable cores");
  app.add_option("--batches", settings.prefetch.batches,
                 "kept ready; 0: no prefetch");
  app.add_option("--readers", settings.prefetch.readers);
  app.add_flag("--shuffle,!--no-shuffle", settings.prefetch.shuffle);
  app.add_option("--steps", settings.steps, "of a turn");
  app.add_option("--seconds", settings.seconds, "how long to measure each job");
  app.add_flag("--json", settings.json);
  CLI11_PARSE(app, argc, argv);
  for (const plimsoll::BenchJob& fed : plimsoll::bench_jobs()) {
    if (!settings.name.empty() && settings.name != fed.name) continue;
    if (const auto done = plimsoll::run(fed, settings); !done) {
      fmt::print(stderr, "{}: {}\n", fed.name, done.error().message);
      return 1;
    }
  }
  return 0;
}
