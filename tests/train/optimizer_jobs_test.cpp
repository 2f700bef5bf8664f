// Optimisers in whole jobs: what plans count, what is refused, what carries
// over from one part of a training to the next.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "base/units.h"
#include "plimsoll/plimsoll.h"
#include "train/calibration.h"
#include "train/planned_job.h"

namespace plimsoll::train::testing {
namespace {

// Targets that an MLP can learn.
struct Problem {
  std::vector<float> x, y;

  Problem() {
    std::mt19937_64 dice(3);
    std::normal_distribution<float> normal;
    for (int i = 0; i < 400; ++i) {
      const std::size_t at = x.size();
      for (int j = 0; j < 8; ++j) x.push_back(normal(dice));
      y.push_back(std::tanh(x[at] - x[at + 1]) + 0.5F * x[at + 2]);
    }
  }
  data::Dataset set() const {
    return data::from_arrays(x.data(), {8}, y.data(), {}, 400).batch(40);
  }
};

struct Trained {
  std::vector<double> kernel;
  double loss = 0;
};

Trained train(const Optimizer& optimizer, std::vector<std::int64_t> parts,
              const std::string& precision = "f32") {
  const Problem problem;
  Session session({.host = "1GiB", .threads = 2});
  Sequential model{Dense(24, gelu), Dense(1)};
  model.compile(session, {.optimizer = optimizer,
                          .loss = mean_squared_error,
                          .precision = precision});
  Trained made;
  for (const std::int64_t epochs : parts) {
    made.loss = model.fit(problem.set(), {.epochs = epochs}).loss.back();
  }
  made.kernel = model.weights("dense_1/kernel");
  return made;
}

const CosineDecay kWarm{.initial_learning_rate = 0,
                        .decay_steps = 60,
                        .alpha = 0.1,
                        .warmup_target = 0.02,
                        .warmup_steps = 8};

std::map<std::string, Optimizer> optimizers() {
  return {
      {"nesterov",
       SGD{.learning_rate = 0.02, .momentum = 0.9, .nesterov = true}},
      {"rmsprop", RMSprop{.learning_rate = 0.003, .momentum = 0.5}},
      {"adagrad", Adagrad{.learning_rate = 0.05}},
      {"lamb", LAMB{.learning_rate = 0.02, .weight_decay = 0.01}},
      {"adafactor", Adafactor{.learning_rate = 0.05}},
      {"clipnorm", Adam{.learning_rate = 0.01, .clipnorm = 0.1}},
      {"clipvalue", Adam{.learning_rate = 0.01, .clipvalue = 0.01}},
      {"global_clipnorm", SGD{.learning_rate = 0.5, .global_clipnorm = 0.1}},
      {"scheduled", Adam{.learning_rate = kWarm}},
      {"clipped_lamb", LAMB{.learning_rate = kWarm, .clipvalue = 0.05}},
      {"clipped_adafactor",
       Adafactor{.learning_rate = 0.05, .global_clipnorm = 0.5}},
  };
}

TEST(OptimizerJobs, LearnInF32AndInF16) {
  for (const auto& [name, optimizer] : optimizers()) {
    const double whole = train(optimizer, {6}).loss;
    const double half = train(optimizer, {6}, "f16").loss;
    EXPECT_LT(whole, 0.5) << name;
    EXPECT_NEAR(half, whole, 0.03 * whole) << name;
  }
}

TEST(OptimizerJobs, PartsMakeTheSameBitsAsTheWhole) {
  for (const auto& [name, optimizer] : optimizers()) {
    EXPECT_EQ(train(optimizer, {1, 3}).kernel, train(optimizer, {4}).kernel)
        << name;
  }
}

// The scale of the loss overflows f16 at first: such a step changes nothing.
TEST(OptimizerJobs, AnOverflowLeavesParametersAndStatesAlone) {
  const Problem problem;
  std::vector<float> far = problem.y;
  for (float& value : far) value *= 30000;
  const auto data =
      data::from_arrays(problem.x.data(), {8}, far.data(), {}, 400).batch(400);
  for (const auto& [name, optimizer] : optimizers()) {
    Session session({.host = "1GiB", .threads = 2});
    Sequential model{Dense(16), Dense(1)};
    model.compile(session, {.optimizer = optimizer,
                            .loss = mean_squared_error,
                            .precision = "f16"});
    model.fit(data, {.epochs = 1});
    const auto before = model.weights("dense_1/kernel");
    model.fit(data, {.epochs = 1});
    EXPECT_EQ(model.weights("loss_scale").at(0), 0x1p13) << name;
    EXPECT_EQ(model.weights("step").at(0), 0) << name;
    EXPECT_EQ(model.weights("dense_1/kernel"), before) << name;
    if (name == "adafactor") {
      for (const double value :
           model.weights("dense_1/kernel/row_second_moment")) {
        EXPECT_EQ(value, 0) << name;
      }
    }
  }
}

TEST(OptimizerJobs, ALooseClipChangesNoBit) {
  const auto free = train(Adam{.learning_rate = 0.01}, {2}).kernel;
  EXPECT_EQ(train(Adam{.learning_rate = 0.01, .clipnorm = 1e6}, {2}).kernel,
            free);
  EXPECT_EQ(train(Adam{.learning_rate = 0.01, .clipvalue = 1e6}, {2}).kernel,
            free);
  EXPECT_EQ(
      train(Adam{.learning_rate = 0.01, .global_clipnorm = 1e6}, {2}).kernel,
      free);
  EXPECT_NE(
      train(Adam{.learning_rate = 0.01, .global_clipnorm = 0.1}, {2}).kernel,
      free);
}

JobSpec wide_job(const std::string& optimizer) {
  JobSpec job;
  job.model.input = {1024};
  LayerSpec dense;
  dense.type = "dense";
  dense.units = 1024;
  job.model.layers.assign(4, dense);
  job.data.source.name = "random";
  job.data.source.options = {{"examples", std::int64_t{1000}},
                             {"features", std::vector<std::int64_t>{1024}},
                             {"labels", std::string("uniform")},
                             {"label_shape", std::vector<std::int64_t>{1024}}};
  job.data.pipeline = data::default_pipeline();
  job.train.batch = 8;
  job.train.loss = "mean_squared_error";
  job.train.optimizer.type = optimizer;
  return job;
}

JobSpec lookup_job(const std::string& optimizer) {
  JobSpec job = wide_job(optimizer);
  job.model.input = {8};
  LayerSpec embedding, flatten, dense;
  embedding.type = "embedding";
  embedding.input_dim = 100'000;
  embedding.output_dim = 16;
  flatten.type = "flatten";
  dense.type = "dense";
  dense.units = 1;
  job.model.layers = {embedding, flatten, dense};
  job.data.source.options = {{"examples", std::int64_t{1000}},
                             {"features", std::vector<std::int64_t>{8}},
                             {"labels", std::string("binary")}};
  return job;
}

Result<plan::SpaceForecast> plan_of(const JobSpec& job) {
  Machine machine(*cpu_profile(2, ""));
  PLIMSOLL_ASSIGN(const JobData data, open_data(job, 2));
  PLIMSOLL_ASSIGN(const auto planned, plan_programs(job, data, machine));
  return planned.plan.host;
}

std::int64_t on(const plan::SpaceForecast& space, Purpose purpose) {
  return space.accounts[static_cast<std::size_t>(purpose)];
}

// What the process itself takes is measured anew for each plan.
std::int64_t planned_bytes(const plan::SpaceForecast& space) {
  return space.peak_bytes - on(space, Purpose::runtime);
}

TEST(OptimizerPlans, AdafactorHoldsARowAndAColumnOfEachMatrix) {
  const auto planned = plan_of(wide_job("adafactor"));
  ASSERT_TRUE(planned) << planned.error().message;
  // Two vectors a kernel, one a bias.
  EXPECT_GE(on(*planned, Purpose::optimizer), 4 * 3 * 1024 * 4);
  EXPECT_LT(on(*planned, Purpose::optimizer), 64 * kKiB);
  EXPECT_GE(on(*planned, Purpose::parameters), 16 * kMiB);
}

TEST(OptimizerPlans, AGlobalNormKeepsAllGradients) {
  JobSpec job = wide_job("sgd");
  const auto free = plan_of(job);
  ASSERT_TRUE(free) << free.error().message;
  job.train.optimizer.clipnorm = 1;
  const auto each = plan_of(job);
  job.train.optimizer.clipnorm = 0;
  job.train.optimizer.global_clipnorm = 1;
  const auto all = plan_of(job);
  ASSERT_TRUE(each && all);
  const std::int64_t kernel = 4 * kMiB;
  // The squares of one gradient at a time.
  EXPECT_LT(planned_bytes(*each), planned_bytes(*free) + kernel + kMiB);
  EXPECT_GE(on(*all, Purpose::gradients), 4 * kernel);
  EXPECT_GE(planned_bytes(*all), planned_bytes(*free) + 2 * kernel);
}

TEST(OptimizerPlans, WhatCannotBeDoneByRowsHoldsTheGradientOfATable) {
  constexpr std::int64_t kTable = 100'000 * 16 * 4;
  const auto gradients = [](const JobSpec& job) {
    const auto planned = plan_of(job);
    EXPECT_TRUE(planned) << planned.error().message;
    return planned ? on(*planned, Purpose::gradients) : 0;
  };
  EXPECT_LT(gradients(lookup_job("adam")), kTable);
  EXPECT_GE(gradients(lookup_job("lamb")), kTable);
  EXPECT_GE(gradients(lookup_job("adafactor")), kTable);
  JobSpec job = lookup_job("adam");
  job.train.optimizer.clipvalue = 1;
  EXPECT_GE(gradients(job), kTable);
  job.train.optimizer.clipvalue = 0;
  job.train.optimizer.clipnorm = 1;
  EXPECT_GE(gradients(job), kTable);
}

}  // namespace
}  // namespace plimsoll::train::testing
