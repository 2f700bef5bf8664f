// Where the step of a job file's network goes, beside what the machine could
// do: each kind of op with its time, and the least time that its operations and
// bytes take at rates measured in the same run.
#include <fmt/format.h>
#include <sys/mman.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <numeric>
#include <vector>

#include "kernels/bare_kernel.h"
#include "ops/matmul/matmul.h"
#include "ops/registry.h"
#include "train/calibration.h"
#include "train/fit.h"
#include "train/job_file/job_file.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Rates {
  double flops = 0;  // a second, of the best of some products
  double bytes = 0;  // a second, reading
};

constexpr int kTrials = 10;  // of which the fastest counts

Result<double> product_rate(ComputeThreads& threads, DType dtype,
                            std::int64_t rows, std::int64_t depth,
                            std::int64_t columns) {
  const graph::TypeList inputs = {{dtype, {rows, depth}},
                                  {dtype, {depth, columns}}};
  PLIMSOLL_ASSIGN(
      bench::BareKernel kernel,
      bench::BareKernel::make(threads, ops::matmul_op(), inputs, {}, 0));
  double best = 1e9;
  for (int i = 0; i < kTrials; ++i) {
    const auto start = Clock::now();
    kernel.launch();
    best = std::min(best, seconds_since(start));
  }
  return kernel.cost().flops / best;
}

double reading_rate(ComputeThreads& threads) {
  constexpr std::int64_t kWords = std::int64_t{1} << 26;  // 512 MiB
  constexpr std::int64_t kChunks = 64;
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::unique_ptr<std::uint64_t, decltype(&std::free)> memory(
      static_cast<std::uint64_t*>(std::aligned_alloc(kHugePage, kWords * 8)),
      &std::free);
  madvise(memory.get(), kWords * 8, MADV_HUGEPAGE);
  std::fill_n(memory.get(), kWords, 1);
  std::array<std::uint64_t, kChunks> sums{};
  auto sum = [&](std::int64_t chunk) {
    const auto* from = memory.get() + chunk * (kWords / kChunks);
    sums[static_cast<std::size_t>(chunk)] +=
        std::accumulate(from, from + kWords / kChunks, std::uint64_t{0});
  };
  double best = 1e9;
  for (int i = 0; i < kTrials; ++i) {
    const auto start = Clock::now();
    threads.for_each_chunk(kChunks, sum);
    best = std::min(best, seconds_since(start));
  }
  // Looked at, so that they are made.
  const bool summed =
      std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}) ==
      std::uint64_t{kTrials} * kWords;
  return summed ? 8.0 * kWords / best : 0;
}

Result<Rates> measure_rates(ComputeThreads& threads, DType dtype) {
  Rates rates;
  for (const std::array<std::int64_t, 3> size :
       {std::array<std::int64_t, 3>{2048, 2048, 2048},
        {256, 768, 3072},
        {1024, 1024, 1024}}) {
    PLIMSOLL_ASSIGN(const double rate,
                    product_rate(threads, dtype, size[0], size[1], size[2]));
    rates.flops = std::max(rates.flops, rate);
  }
  rates.bytes = reading_rate(threads);
  return rates;
}

std::string name_of(const graph::Instruction& step) {
  const std::string& kernel = step.kernel.name;
  return kernel.starts_with(step.op->name)
             ? kernel
             : fmt::format("{} {}", step.op->name, kernel);
}

struct Share {
  int launches = 0;
  double seconds = 0;
  double least = 0;  // by operations and bytes
  graph::Cost cost;
};

class NetworkBench {
 public:
  NetworkBench(train::JobSpec job, int threads)
      : job_(std::move(job)), machine_(*train::cpu_profile(threads, "")) {}

  Status open() {
    PLIMSOLL_ASSIGN(data_, train::open_data(job_, machine_.profile().threads));
    PLIMSOLL_ASSIGN(planned_, train::plan_programs(job_, data_, machine_));
    PLIMSOLL_ASSIGN(running_,
                    train::RunningJob::open(job_, planned_, data_, machine_));
    return {};
  }

  // By op, or by op, shapes and kernel. The first batch is trained on again and
  // again.
  Result<std::map<std::string, Share>> time_ops(int steps, bool by_kernel) {
    data::BatchFeeder& feeder = *running_->feeder(train::Stage::train);
    PLIMSOLL_RETURN_IF_ERROR(feeder.start({}));
    PLIMSOLL_ASSIGN(const data::Batch batch, feeder.next());
    PLIMSOLL_RETURN_IF_ERROR(running_->step(train::Stage::train, batch));
    PLIMSOLL_ASSIGN(const Rates rates,
                    measure_rates(machine_.threads(), job_.train.precision));
    rates_ = rates;
    const auto& program = *running_->programs()[0];
    std::vector<double> best(program.launches().size(), 1e9);
    for (int i = 0; i < steps; ++i) {
      for (std::size_t k = 0; k < best.size(); ++k) {
        const runtime::Launch& launch = program.launches()[k];
        const auto start = Clock::now();
        launch.kernel->launch({launch.inputs, launch.outputs, launch.scratch});
        best[k] = std::min(best[k], seconds_since(start));
      }
    }
    std::map<std::string, Share> shares;
    for (std::size_t k = 0; k < best.size(); ++k) {
      const auto& step =
          program.lowered().instructions[static_cast<std::size_t>(
              program.launches()[k].instruction)];
      const graph::Cost cost =
          step.op->cost(step.input_types, step.output_types, step.attrs);
      Share& share =
          shares[by_kernel
                     ? fmt::format(
                           "{} -> {}, {}", graph::to_string(step.input_types),
                           graph::to_string(step.output_types), name_of(step))
                     : std::string(step.op->name)];
      ++share.launches;
      share.seconds += best[k];
      share.least +=
          std::max(cost.flops / rates.flops, cost.bytes / rates.bytes);
      share.cost.flops += cost.flops;
      share.cost.bytes += cost.bytes;
    }
    return shares;
  }

  const Rates& rates() const { return rates_; }
  train::Machine& machine() { return machine_; }

 private:
  train::JobSpec job_;
  train::Machine machine_;
  train::JobData data_;
  train::PlannedJob planned_;
  std::unique_ptr<train::RunningJob> running_;
  Rates rates_;
};

void print_row(const std::string& name, const Share& share) {
  fmt::print("{:32}{:6}{:10.2f}{:10.2f}{:7.0f} %{:10.2f}{:10.3f}\n", name,
             share.launches, share.seconds * 1e3, share.least * 1e3,
             100 * share.least / share.seconds, share.cost.flops * 1e-9,
             share.cost.bytes * 1e-9);
}

Status run(train::JobSpec job, int threads, int steps, bool by_kernel) {
  NetworkBench bench(std::move(job), threads);
  PLIMSOLL_RETURN_IF_ERROR(bench.open());
  Result<std::map<std::string, Share>> timed = std::map<std::string, Share>();
  bench.machine().threads().enter(
      [&] { timed = bench.time_ops(steps, by_kernel); });
  if (!timed) return std::move(timed).error();
  std::vector<std::pair<std::string, Share>> rows(timed->begin(), timed->end());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.seconds > b.second.seconds;
  });
  fmt::print(
      "{} threads; products reach {:.0f} Gflop/s, reading memory "
      "{:.1f} GB/s\n"
      "{:32}{:>6}{:>10}{:>10}{:>9}{:>10}{:>10}\n",
      bench.machine().threads().size(), bench.rates().flops * 1e-9,
      bench.rates().bytes * 1e-9, "op", "runs", "ms", "least ms", "of limit",
      "Gflop", "GB");
  Share all;
  for (const auto& [name, share] : rows) {
    print_row(name, share);
    all.launches += share.launches;
    all.seconds += share.seconds;
    all.least += share.least;
    all.cost.flops += share.cost.flops;
    all.cost.bytes += share.cost.bytes;
  }
  print_row("the step", all);
  return {};
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  CLI::App app("A network's step beside the machine's limits");
  std::string path;
  std::string precision = "f32";
  std::string batch;
  int threads = 2;
  int steps = 5;
  app.add_option("job", path, "a job file")->required();
  app.add_option("--batch", batch, "the job file's by default");
  app.add_option("--precision", precision, "f32, bf16, f16 or f64");
  app.add_option("--threads", threads, "0: all usable cores");
  bool by_kernel = false;
  app.add_flag("--by-kernel", by_kernel, "apart by shapes and kernels too");
  app.add_option("--steps", steps, "of which the fastest counts, op by op");
  CLI11_PARSE(app, argc, argv);
  std::vector<std::string> overrides = {"train.precision=" + precision};
  if (!batch.empty()) overrides.push_back("train.batch=" + batch);
  auto job = plimsoll::train::read_job_file(path, overrides);
  const plimsoll::Status done =
      job ? plimsoll::run(*std::move(job), threads, steps, by_kernel)
          : plimsoll::Status(std::move(job).error());
  if (!done) {
    fmt::print(stderr, "{}\n", done.error().message);
    return 1;
  }
  return 0;
}
