// A loop by hand whose step is one traced function, beside fit() on the same
// data: both take turns in one run, so that whatever else the machine does is
// shared; the best round of each counts.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>

#include "plimsoll/plimsoll.h"
#include "step/bench_job.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kBatch = 32;

class TracedBench {
 public:
  TracedBench(const BenchJob& bench, int threads, bool shuffle)
      : bench_(bench),
        session_({.host = "1GiB", .threads = threads}),
        features_(features_of(bench)),
        labels_(labels_of(bench)),
        data_(data::from_arrays(features_.data(), {bench.widths.front()},
                                labels_.data(), {bench.widths.back()},
                                bench.examples)),
        model_(layers()) {
    // Without shuffling batches are read where the arrays lie.
    data_ = shuffle ? data_.shuffle().batch(kBatch).prefetch(4)
                    : data_.batch(kBatch);
    model_.compile(session_, {.optimizer = Adam{}, .loss = loss()});
    for (std::size_t i = 0; i + 1 < bench.widths.size(); ++i) {
      variables_.emplace_back(
          random_normal({bench.widths[i], bench.widths[i + 1]}, 1, 0, 0.05));
      variables_.emplace_back(zeros({bench.widths[i + 1]}));
    }
  }

  auto traced() {
    return function([this, adam = std::make_shared<OptimizerState>(Adam{})](
                        const Tensor& x, const Tensor& y) {
      GradientTape tape;
      Tensor made = matmul(x, variables_[0]) + variables_[1];
      Tensor result;
      if (variables_.size() == 2) {
        result = mean_squared_error(y, made);
      } else {
        made = matmul(relu(made), variables_[2]) + variables_[3];
        result = mean(sigmoid_cross_entropy_with_logits(y, made));
      }
      adam->apply_gradients(tape.gradient(result, variables_), variables_);
      return result;
    });
  }

  double fit() { return model_.fit(data_).examples_per_second; }

  // Batches that lie ready as tensors: the step alone.
  double steps() {
    auto step = traced();
    data::Iterator batches = data_.iterate(session_);
    std::vector<data::TensorBatch> ready;
    for (int i = 0; i < 64; ++i) ready.push_back(batches.next_tensors());
    step(ready[0].features, ready[0].labels);
    const std::int64_t count = bench_.examples / kBatch;
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < count; ++i) {
      const auto& batch = ready[static_cast<std::size_t>(i % 64)];
      step(batch.features, batch.labels);
    }
    return rate(count * kBatch, start);
  }

  // The whole loop, with its batches.
  double loop() {
    auto step = traced();
    data::Iterator batches = data_.iterate(session_);
    std::int64_t examples = 0;
    Clock::time_point start;
    while (const auto batch = batches.next_tensors()) {
      step(batch.features, batch.labels);
      if (examples == 0) start = Clock::now();
      examples += kBatch;
    }
    return rate(examples - kBatch, start);
  }

 private:
  Loss loss() const {
    return bench_.widths.back() == 1 ? binary_crossentropy : mean_squared_error;
  }

  std::vector<Layer> layers() const {
    if (bench_.widths.size() == 2) return {Dense(bench_.widths.back())};
    return {Dense(bench_.widths[1], relu), Dense(bench_.widths[2], sigmoid)};
  }

  static double rate(std::int64_t examples, Clock::time_point start) {
    return static_cast<double>(examples) /
           std::chrono::duration<double>(Clock::now() - start).count();
  }

  const BenchJob& bench_;
  Session session_;
  std::vector<float> features_;
  std::vector<float> labels_;
  data::Dataset data_;
  Sequential model_;
  std::vector<Variable> variables_;
};

void run(const BenchJob& job, int threads, int rounds, bool shuffle) {
  TracedBench bench(job, threads, shuffle);
  double fit = 0;
  double steps = 0;
  double loop = 0;
  for (int round = 0; round < rounds; ++round) {
    fit = std::max(fit, bench.fit());
    steps = std::max(steps, bench.steps());
    loop = std::max(loop, bench.loop());
  }
  fmt::print(
      "{:<10} fit {:>11.0f} examples/s; traced step {:>11.0f} ({:.2f} of fit), "
      "loop with its batches {:>11.0f} ({:.2f})\n",
      job.name, fit, steps, steps / fit, loop, loop / fit);
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  CLI::App app("A traced loop beside fit()");
  int threads = 2;
  int rounds = 5;
  bool shuffle = false;
  app.add_option("--threads", threads);
  app.add_option("--rounds", rounds);
  app.add_flag("--shuffle", shuffle, "shuffled, four batches read ahead");
  CLI11_PARSE(app, argc, argv);
  for (const auto& job : plimsoll::bench_jobs()) {
    plimsoll::run(job, threads, rounds, shuffle);
  }
}
