// Several batches for one update: what the large batch would have given, in
// planned memory, and resumed in the middle of a group.
#include <cmath>

#include "fit_fixture.h"
#include "train/checkpoint.h"
#include "train/fit.h"
#include "train/planned_job.h"
#include "train/workplace.h"

namespace plimsoll::train::testing {
namespace {

class AccumulationTest : public FitTest {
 protected:
  struct Trained {
    std::vector<double> loss;
    std::vector<double> weights;
  };

  data::Dataset some(std::int64_t examples, std::int64_t batch) const {
    return data::from_arrays(x_.data(), {kFeatures}, y_.data(), {}, examples)
        .batch(batch);
  }
  Trained train(const data::Dataset& data, std::int64_t steps,
                Optimizer optimizer, const char* precision = "f32") {
    Sequential made{Dense(8, tanh), Dense(1, sigmoid)};
    made.compile(session_, {.optimizer = optimizer,
                            .loss = binary_crossentropy,
                            .precision = precision,
                            .accumulation_steps = steps});
    const FitHistory history = made.fit(data, {.epochs = 3});
    EXPECT_EQ(history.forecast_host_bytes, history.measured_host_bytes);
    return {history.loss, made.weights("dense_1/kernel")};
  }
  static double furthest(const std::vector<double>& a,
                         const std::vector<double>& b) {
    EXPECT_EQ(a.size(), b.size());
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      most = std::max(most, std::abs(a[i] - b[i]));
    }
    return most;
  }
};

TEST_F(AccumulationTest, FourTimesEightAreThirtyTwo) {
  // The last: a whole group, three batches, and a partial batch alone.
  for (const std::int64_t examples : {64, 56, 70}) {
    for (const Optimizer& optimizer :
         std::vector<Optimizer>{SGD{.learning_rate = 0.5, .momentum = 0.9},
                                Adam{.learning_rate = 0.01}}) {
      const Trained large = train(some(examples, 32), 1, optimizer, "f64");
      const Trained small = train(some(examples, 8), 4, optimizer, "f64");
      EXPECT_LT(furthest(small.weights, large.weights), 1e-12) << examples;
      EXPECT_LT(furthest(small.loss, large.loss), 1e-12) << examples;
      const Trained single = train(some(examples, 8), 4, optimizer);
      EXPECT_LT(furthest(single.weights, large.weights), 1e-4) << examples;
      const Trained each = train(some(examples, 8), 1, optimizer);
      EXPECT_GT(furthest(each.weights, large.weights), 1e-3) << examples;
    }
  }
}

TEST_F(AccumulationTest, HalfPrecisionScalesItsLoss) {
  const SGD optimizer{.learning_rate = 0.5};
  const Trained large = train(some(70, 32), 1, optimizer, "f16");
  const Trained small = train(some(70, 8), 4, optimizer, "f16");
  EXPECT_LT(furthest(small.weights, large.weights), 2e-3);
  EXPECT_LT(large.loss.back(), large.loss.front());
}

TEST_F(AccumulationTest, HalfPrecisionNeedsNoParameters) {
  for (const std::int64_t steps : {1, 4}) {
    Sequential made{Flatten()};
    made.compile(session_, {.loss = mean_squared_error,
                            .precision = "f16",
                            .accumulation_steps = steps});
    const auto data = data::from_arrays(x_.data(), {1}, y_.data(), {1}, 70);
    const FitHistory history = made.fit(data.batch(8), {.epochs = 2});
    EXPECT_TRUE(std::isfinite(history.loss.back()));
  }
}

TEST_F(AccumulationTest, ThePlanHasTheSumsAndAModelDoesNotKeepThem) {
  std::int64_t kept[2] = {};
  for (const std::int64_t steps : {1, 4}) {
    Sequential made{Dense(4096, relu), Dense(1, sigmoid)};
    made.compile(session_,
                 {.loss = binary_crossentropy, .accumulation_steps = steps});
    const std::string json = made.plan(set()).json();
    EXPECT_TRUE(has(json, "\"accumulation_steps\": " + std::to_string(steps)));
    made.fit(set());
    kept[steps / 4] = session_.host_held_bytes();
  }
  EXPECT_EQ(kept[0], kept[1]);
  Sequential none{Dense(1)};
  none.compile(session_, {.accumulation_steps = 0});
  EXPECT_TRUE(has(bad_input([&] { none.fit(set()); }), "accumulation_steps"));
}

TEST_F(AccumulationTest, ACheckpointInsideAGroupGoesOnWithTheSameBits) {
  JobSpec job;
  job.model.input = {3};
  LayerSpec layer;
  layer.type = "dense";
  layer.units = 1;
  job.model.layers = {layer};
  job.train.batch = 8;
  job.train.epochs = 2;
  job.train.loss = "mean_squared_error";
  job.train.accumulation_steps = 4;
  job.data.source.name = "random";
  job.data.source.options["examples"] = std::int64_t{70};
  job.data.source.options["features"] = std::vector<std::int64_t>{3};
  auto place = open_workplace(job, {});
  ASSERT_TRUE(place) << place.error().message;
  Machine& machine = *place->machine;
  auto data = open_data(job, machine.profile().threads);
  ASSERT_TRUE(data) << data.error().message;
  const auto planned = plan_programs(job, *data, machine);
  ASSERT_TRUE(planned) << planned.error().message;
  constexpr auto kGradients = static_cast<std::size_t>(Purpose::gradients);
  EXPECT_GE(planned->plan.host.accounts[kGradients], 4 * (3 + 1));
  const auto rest = [&](RunningJob& running, History start) {
    const auto record =
        fit(job, running, *data, machine, {}, std::move(start), {});
    EXPECT_TRUE(record);
    return record ? record->history.loss_by_epoch : std::vector<double>{};
  };
  const std::string path = folder_ / "inside.safetensors";
  {
    const auto running = RunningJob::open(job, *planned, *data, machine);
    ASSERT_TRUE(running);
    History history;
    data::BatchFeeder& feeder = *(*running)->feeder(Stage::train);
    ASSERT_TRUE((*running)->clear_metrics());
    machine.threads().enter([&] {
      ASSERT_TRUE(feeder.start({}));
      for (int i = 0; i < 6; ++i) {
        const auto batch = feeder.next();
        ASSERT_TRUE(batch);
        ASSERT_TRUE((*running)->step(Stage::train, *batch));
        if (i == 3) {
          ASSERT_TRUE((*running)->update(32));
        }
      }
    });
    history.position = 48;
    history.steps = 6;
    history.group_batches = 2;
    history.group_examples = 16;
    ASSERT_TRUE(save_checkpoint(path, **running, 70, history));
  }
  const auto whole = RunningJob::open(job, *planned, *data, machine);
  const auto expected = rest(**whole, {});
  const auto resumed = RunningJob::open(job, *planned, *data, machine);
  const auto start = load_checkpoint(path, **resumed, 70);
  ASSERT_TRUE(start) << start.error().message;
  EXPECT_EQ(start->group_batches, 2);
  EXPECT_EQ(rest(**resumed, *start), expected);
  // Of another grouping it is another training.
  JobSpec other = job;
  other.train.accumulation_steps = 1;
  const auto alone = plan_programs(other, *data, machine);
  const auto apart = RunningJob::open(other, *alone, *data, machine);
  const auto refused = load_checkpoint(path, **apart, 70);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(has(refused.error().message, "accumulation_steps"));
}

TEST_F(AccumulationTest, ATableIsUpdatedAsAWhole) {
  std::vector<std::int32_t> words;
  for (int i = 0; i < kExamples * 2; ++i) words.push_back(i * 7 % 11);
  const TestFolder folder;
  write_npy(folder / "w.npy", "<i4", 2, words);
  write_npy(folder / "y.npy", "<f4", 0, y_);
  const auto table = [&](std::int64_t batch, std::int64_t steps) {
    Sequential made{Embedding(11, 4), Flatten(), Dense(1, sigmoid)};
    made.compile(session_, {.optimizer = SGD{.learning_rate = 0.5},
                            .loss = binary_crossentropy,
                            .accumulation_steps = steps});
    made.fit(data::from_npy(folder / "w.npy", folder / "y.npy").batch(batch));
    return made.weights("embedding_1/embeddings");
  };
  EXPECT_LT(furthest(table(8, 4), table(32, 1)), 1e-5);
}

}  // namespace
}  // namespace plimsoll::train::testing
