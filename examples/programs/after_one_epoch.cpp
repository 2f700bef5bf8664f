// Memory that grows with each epoch. Training is flat: what grows is something
// that the program itself collects. As tensors it is in the session's ledger,
// and explain() names it; as arrays it is what the process has beside the
// ledger.
#include <cstdio>
#include <iostream>
#include <numeric>

#include "compare.h"
#include "plimsoll/plimsoll.h"

namespace {

namespace pl = plimsoll;

constexpr std::int64_t kFeatures = 16, kOutputs = 64;

struct Sizes {
  std::int64_t examples;
  int epochs;
  std::int64_t predictions_bytes() const { return examples * kOutputs * 4; }
};

Sizes sizes(const example::Setting& setting) {
  return setting.small ? Sizes{20'000, 40} : Sizes{40'000, 100};
}

pl::data::Dataset data(const example::Setting& setting) {
  return pl::data::random(sizes(setting).examples, {kFeatures},
                          pl::data::Dataset::Labels::uniform, {kOutputs})
      .batch(256);
}

double mean(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

// Who has grown since the second epoch, by two counts: the system's, and the
// session's ledger.
class Growth {
 public:
  explicit Growth(const pl::Session& session) : session_(session) {}

  void after_epoch(int epoch) {
    const std::int64_t process = example::resident_bytes();
    const std::int64_t ledger = session_.host_held_bytes();
    if (epoch == 2) process_bytes_ = process, ledger_bytes_ = ledger;
    if (epoch == 4) an_epoch_bytes_ = (process - process_bytes_) / 2;
    last_epoch_ = epoch;
  }
  std::int64_t forecast_bytes() const {
    return process_bytes_ + an_epoch_bytes_ * (last_epoch_ - 2);
  }
  void print() const {
    const auto mib = [](std::int64_t bytes) {
      return static_cast<double>(bytes) / (1 << 20);
    };
    const double in_all = mib(example::resident_bytes() - process_bytes_);
    const double in_ledger = mib(session_.host_held_bytes() - ledger_bytes_);
    std::printf(
        "epochs 2 to %d: the process grew by %.1f MiB; the session by "
        "%.1f MiB, the program's own by %.1f MiB\n",
        last_epoch_, in_all, in_ledger, in_all - in_ledger);
    std::cout << session_.explain();
  }

 private:
  const pl::Session& session_;
  std::int64_t process_bytes_ = 0, ledger_bytes_ = 0, an_epoch_bytes_ = 0;
  int last_epoch_ = 0;
};

// Trains epoch by epoch and hands the predictions of each to `keep`.
template <class Keep>
example::Outcome train(pl::Session& session, const example::Setting& setting,
                       const Keep& keep) {
  pl::Sequential model{pl::Dense(32, pl::relu), pl::Dense(kOutputs)};
  model.compile(session, {.optimizer = pl::Adam{}});
  const pl::data::Dataset set = data(setting);
  example::Outcome outcome;
  // Of one epoch: the plan, and the array that predict() returns.
  outcome.forecast_bytes =
      model.plan(set).host_peak_bytes() + sizes(setting).predictions_bytes();
  Growth growth(session);
  for (int epoch = 1; epoch <= sizes(setting).epochs; ++epoch) {
    model.fit(set);
    std::vector<float> predictions = model.predict(set);
    outcome.value = mean(predictions);
    keep(std::move(predictions));
    growth.after_epoch(epoch);
  }
  growth.print();
  outcome.forecast_bytes =
      std::max(outcome.forecast_bytes, growth.forecast_bytes());
  return outcome;
}

example::Outcome kept_tensors(const example::Setting& setting) {
  pl::Session session;
  std::vector<pl::Tensor> kept;
  return train(session, setting, [&](const std::vector<float>& predictions) {
    kept.push_back(
        pl::Tensor::of(predictions, {sizes(setting).examples, kOutputs}));
  });
}

example::Outcome kept_arrays(const example::Setting& setting) {
  pl::Session session;
  std::vector<std::vector<float>> kept;
  return train(session, setting, [&](std::vector<float> predictions) {
    kept.push_back(std::move(predictions));
  });
}

example::Outcome kept_means(const example::Setting& setting) {
  pl::Session session({.host = setting.small ? "64MiB" : "96MiB"});
  std::vector<double> kept;
  return train(session, setting, [&](const std::vector<float>& predictions) {
    kept.push_back(mean(predictions));
  });
}

}  // namespace

int main(int argc, char** argv) {
  return example::compare(
      argc, argv,
      {.question = "Memory runs out after some epochs.",
       .parts = {{"kept-tensors", example::Role::problem,
                  "each epoch's predictions are kept as a tensor",
                  kept_tensors},
                 {"kept-arrays", example::Role::problem,
                  "each epoch's predictions are kept as an array", kept_arrays},
                 {"kept-means", example::Role::cure,
                  "of each epoch's predictions one number is kept",
                  kept_means}},
       .line_bytes = 96 << 20,
       .small_line_bytes = 64 << 20,
       .tolerance = 0});
}
