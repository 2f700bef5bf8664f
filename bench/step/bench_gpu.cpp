// A step on the GPU, taken apart: each launch alone, all of them as they are
// recorded, the same with its copy, and through shuffle and prefetch.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>

#include "step/bench_job.h"
#include "train/calibration.h"
#include "train/cuda_profile.h"
#include "train/running_job.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  BenchPrefetch prefetch{.batches = 8, .readers = 2};
  std::int64_t steps = 2000;  // of a turn
  std::int64_t batch = 32;
  int threads = 0;
};

class GpuBench {
 public:
  GpuBench(const BenchJob& bench, const Settings& settings)
      : settings_(settings),
        bench_(bench),
        job_(spec_of(bench, settings.prefetch)),
        features_(features_of(bench)),
        labels_(labels_of(bench)) {
    job_.train.batch = settings.batch;
  }

  Status run() {
    PLIMSOLL_RETURN_IF_ERROR(open());
    PLIMSOLL_RETURN_IF_ERROR(time_launches());
    PLIMSOLL_ASSIGN(const double kept, best([&] { return kept_steps(); }));
    PLIMSOLL_ASSIGN(const double fed, best([&] { return fed_steps(); }));
    fmt::print("{:>9.2f} us  a step with its copy\n", kept * 1e6);
    fmt::print("{:>9.2f} us  a step through shuffle and prefetch\n", fed * 1e6);
    return {};
  }

 private:
  Status open() {
    PLIMSOLL_ASSIGN(DeviceProfile cpu,
                    train::cpu_profile(settings_.threads, ""));
    PLIMSOLL_ASSIGN(DeviceProfile gpu,
                    train::cuda_profile({"cuda:0", DType::f32, 1, ""}));
    machine_ = std::make_unique<train::Machine>(std::move(cpu), std::move(gpu),
                                                ops::CudaSettings{});
    PLIMSOLL_RETURN_IF_ERROR(machine_->open_device(0, ""));
    PLIMSOLL_ASSIGN(data_, data_over(bench_, job_, machine_->profile().threads,
                                     features_, labels_));
    PLIMSOLL_ASSIGN(planned_, train::plan_programs(job_, data_, *machine_));
    PLIMSOLL_ASSIGN(running_,
                    train::RunningJob::open(job_, planned_, data_, *machine_));
    return running_->feeder(train::Stage::train)->start({});
  }

  // The best of some turns, seconds of a step.
  Result<double> best(const std::function<Status()>& turn) {
    double least = 1e9;
    for (int i = 0; i < 7; ++i) {
      const auto start = Clock::now();
      PLIMSOLL_RETURN_IF_ERROR(turn());
      PLIMSOLL_RETURN_IF_ERROR(running_->finish());
      const std::chrono::duration<double> taken = Clock::now() - start;
      least =
          std::min(least, taken.count() / static_cast<double>(settings_.steps));
    }
    return least;
  }

  Status time_launches() {
    PLIMSOLL_ASSIGN(const auto stream, machine_->device()->make_stream());
    PLIMSOLL_ASSIGN(
        const auto program,
        runtime::CudaProgram::prepare(
            *running_->programs()[0], running_->programs()[0]->launches(),
            machine_->cuda_catalog(), *machine_->device(), {}));
    const auto timed = [&](const std::function<Status()>& work,
                           int copies) -> Result<double> {
      PLIMSOLL_ASSIGN(const auto recording,
                      machine_->device()->record(*stream, [&]() -> Status {
                        for (int i = 0; i < copies; ++i) {
                          PLIMSOLL_RETURN_IF_ERROR(work());
                        }
                        return {};
                      }));
      PLIMSOLL_RETURN_IF_ERROR(recording->launch(*stream));
      PLIMSOLL_RETURN_IF_ERROR(stream->synchronize());
      double least = 1e9;
      for (int turn = 0; turn < 5; ++turn) {
        const auto start = Clock::now();
        for (int i = 0; i < 50; ++i) {
          PLIMSOLL_RETURN_IF_ERROR(recording->launch(*stream));
        }
        PLIMSOLL_RETURN_IF_ERROR(stream->synchronize());
        const std::chrono::duration<double> taken = Clock::now() - start;
        least = std::min(least, taken.count() / 50 / copies);
      }
      return least;
    };
    for (std::size_t i = 0; i < program->launches(); ++i) {
      PLIMSOLL_ASSIGN(
          const double seconds,
          timed([&] { return program->enqueue_launch(i, *stream); }, 20));
      fmt::print("{:>9.2f} us  {}\n", seconds * 1e6, program->describe(i));
    }
    PLIMSOLL_ASSIGN(const double one,
                    timed([&] { return program->enqueue(*stream); }, 1));
    PLIMSOLL_ASSIGN(const double many,
                    timed([&] { return program->enqueue(*stream); }, 20));
    fmt::print("{:>9.2f} us  all launches, a recording a step\n", one * 1e6);
    fmt::print("{:>9.2f} us  all launches, twenty steps in one recording\n",
               many * 1e6);
    return {};
  }

  Status kept_steps() {
    data::Batch batch;
    batch.slot = 0;
    batch.examples = settings_.batch;
    for (std::int64_t i = 0; i < settings_.steps; ++i) {
      PLIMSOLL_RETURN_IF_ERROR(running_->step(train::Stage::train, batch));
    }
    return {};
  }

  Status fed_steps() {
    data::BatchFeeder& feeder = *running_->feeder(train::Stage::train);
    for (std::int64_t done = 0; done < settings_.steps;) {
      PLIMSOLL_ASSIGN(const data::Batch batch, feeder.next());
      if (batch.examples == 0) {
        PLIMSOLL_RETURN_IF_ERROR(running_->finish());
        const std::int64_t epoch = feeder.position().epoch + 1;
        PLIMSOLL_RETURN_IF_ERROR(feeder.start({epoch, 0, {}}));
        continue;
      }
      PLIMSOLL_RETURN_IF_ERROR(running_->step(train::Stage::train, batch));
      ++done;
    }
    return {};
  }

  Settings settings_;
  const BenchJob& bench_;
  train::JobSpec job_;
  std::vector<float> features_, labels_;
  std::unique_ptr<train::Machine> machine_;
  train::JobData data_;
  train::PlannedJob planned_;
  std::unique_ptr<train::RunningJob> running_;
};

int run(int argc, char** argv) {
  CLI::App app("A step on the GPU, taken apart");
  Settings settings;
  std::string only;
  app.add_option("--job", only, "mlp1000 or linear100; both without");
  app.add_option("--batch", settings.batch);
  app.add_option("--prefetch", settings.prefetch.batches);
  app.add_option("--readers", settings.prefetch.readers);
  app.add_option("--steps", settings.steps);
  app.add_option("--threads", settings.threads);
  CLI11_PARSE(app, argc, argv);
  if (const auto gpu = train::cuda_memory("cuda:0"); !gpu) {
    fmt::print("skipped: {}\n", gpu.error().message);
    return 0;
  }
  for (const BenchJob& bench : bench_jobs()) {
    if (!only.empty() && only != bench.name) continue;
    fmt::print("{}\n", bench.name);
    if (const auto done = GpuBench(bench, settings).run(); !done) {
      fmt::print(stderr, "{}\n", done.error().message);
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) { return plimsoll::run(argc, argv); }
