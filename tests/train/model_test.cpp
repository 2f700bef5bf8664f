// The C++ API: a model's life between fit, evaluate and predict, and what it
// throws.
#include <gtest/gtest.h>

#include <cmath>

#include "npy_file.h"
#include "plimsoll/plimsoll.h"

namespace plimsoll::train::testing {
namespace {

class ModelTest : public ::testing::Test {
 protected:
  ModelTest() {
    for (int i = 0; i < kExamples * kFeatures; ++i)
      x_.push_back(static_cast<float>((i * 37 % 101) - 50) / 50);
    for (int i = 0; i < kExamples; ++i) y_.push_back(static_cast<float>(i % 2));
  }

  static constexpr int kExamples = 70;
  static constexpr int kFeatures = 3;

  data::Dataset set() const {
    return data::from_arrays(x_.data(), {kFeatures}, y_.data(), {}, kExamples)
        .batch(32);
  }
  Sequential model(Session& session, Optimizer optimizer = Adam{}) const {
    Sequential made{Dense(4, relu), Dense(1, sigmoid)};
    made.compile(session, {.optimizer = optimizer,
                           .loss = binary_crossentropy,
                           .metrics = {"accuracy"}});
    return made;
  }

  Session session_{{.host = "1GiB", .threads = 2}};
  std::vector<float> x_, y_;
};

template <class Action>
Failure failure_of(const Action& action, std::string* text = nullptr) {
  try {
    action();
  } catch (const Exception& error) {
    if (text) *text = error.what();
    return error.failure();
  }
  ADD_FAILURE() << "nothing was thrown";
  return Failure::internal;
}

TEST_F(ModelTest, FitGoesOnWhereItStopped) {
  // Weights and the optimiser's state carry over; without shuffling the order
  // is the same in every epoch.
  Sequential once = model(session_);
  const FitHistory four = once.fit(set(), {.epochs = 4});
  Sequential twice = model(session_);
  FitHistory parts = twice.fit(set(), {.epochs = 1});
  const FitHistory rest = twice.fit(set(), {.epochs = 3});
  parts.loss.insert(parts.loss.end(), rest.loss.begin(), rest.loss.end());
  EXPECT_EQ(parts.loss, four.loss);
  for (const char* name :
       {"dense_1/kernel", "dense_1/bias", "dense_2/kernel", "dense_2/bias"}) {
    EXPECT_EQ(once.weights(name), twice.weights(name)) << name;
  }
}

// As in Keras: for another optimizer or rate. Its state starts anew.
TEST_F(ModelTest, CompilingAgainKeepsTheWeights) {
  Sequential one = model(session_);
  one.fit(set(), {.epochs = 3});
  const auto kernel = one.weights("dense_1/kernel");
  const double loss = one.evaluate(set()).loss;
  const std::int64_t held = session_.host_held_bytes();
  one.compile(session_, {.optimizer = SGD{.learning_rate = 1e-3},
                         .loss = binary_crossentropy});
  EXPECT_LE(session_.host_held_bytes(), held);
  EXPECT_EQ(one.weights("dense_1/kernel"), kernel);
  EXPECT_EQ(one.evaluate(set()).loss, loss);
  const FitHistory on = one.fit(set());
  EXPECT_EQ(on.forecast_host_bytes, on.measured_host_bytes);
  EXPECT_LT(one.evaluate(set()).loss, loss);
}

TEST_F(ModelTest, CompilingForAnotherTypeConvertsTheWeights) {
  Sequential one = model(session_);
  one.fit(set(), {.epochs = 3});
  const auto kernel = one.weights("dense_1/kernel");
  const double loss = one.evaluate(set()).loss;
  for (const char* precision : {"f64", "bf16", "f32"}) {
    one.compile(session_,
                {.loss = binary_crossentropy, .precision = precision});
    EXPECT_EQ(one.weights("dense_1/kernel"), kernel) << precision;
    EXPECT_NEAR(one.evaluate(set()).loss, loss, 5e-3) << precision;
  }
  one.compile(session_, {.optimizer = SGD{.learning_rate = 1e-30},
                         .loss = binary_crossentropy,
                         .precision = "f64"});
  EXPECT_NEAR(one.fit(set()).loss[0], loss, 1e-6);
  EXPECT_EQ(one.weights("dense_1/kernel"), kernel);
}

TEST_F(ModelTest, CompilingForAnotherSessionTakesTheWeightsAlong) {
  Session other{{.host = "1GiB", .threads = 1}};
  Sequential one = model(session_);
  const std::int64_t before = session_.host_held_bytes();
  const std::int64_t others = other.host_held_bytes();
  one.fit(set(), {.epochs = 3});
  const auto kernel = one.weights("dense_1/kernel");
  const double loss = one.evaluate(set()).loss;
  one.compile(other, {.loss = binary_crossentropy});
  EXPECT_EQ(session_.host_held_bytes(), before);
  EXPECT_GT(other.host_held_bytes(), others);
  session_.close();
  EXPECT_EQ(one.weights("dense_1/kernel"), kernel);
  EXPECT_NEAR(one.evaluate(set()).loss, loss, 1e-6);
  one.fit(set());
  other.close();
  Session third{{.host = "1GiB", .threads = 1}};
  one.compile(third, {.loss = binary_crossentropy});
  EXPECT_NE(one.evaluate(set()).loss, loss);  // gone with their session
}

TEST_F(ModelTest, WeightsThatAnotherSessionCannotHoldStayWhereTheyAre) {
  Session tiny{{.host = "1MiB", .threads = 1}};
  Sequential one{Dense(100'000, relu), Dense(1, sigmoid)};
  one.compile(session_, {.loss = binary_crossentropy});
  one.fit(set());
  const auto kernel = one.weights("dense_2/kernel");
  std::string text;
  EXPECT_EQ(failure_of([&] { one.compile(tiny); }, &text),
            Failure::over_budget);
  EXPECT_NE(text.find("1.0 MiB"), std::string::npos) << text;
  EXPECT_EQ(tiny.host_held_bytes(), 0);
  EXPECT_EQ(one.weights("dense_2/kernel"), kernel);
  EXPECT_NO_THROW(one.fit(set()));
}

TEST_F(ModelTest, PredictAndEvaluateAgreeWithHandComputation) {
  Sequential made = model(session_);
  made.fit(set(), {.epochs = 3});
  const auto kernel_1 = made.weights("dense_1/kernel");
  const auto bias_1 = made.weights("dense_1/bias");
  const auto kernel_2 = made.weights("dense_2/kernel");
  const auto bias_2 = made.weights("dense_2/bias");
  const std::vector<float> predicted = made.predict(set());
  ASSERT_EQ(predicted.size(), static_cast<std::size_t>(kExamples));
  double loss = 0;
  double right = 0;
  for (std::size_t i = 0; i < kExamples; ++i) {
    double logit = bias_2[0];
    for (std::size_t k = 0; k < 4; ++k) {
      double sum = bias_1[k];
      for (std::size_t j = 0; j < kFeatures; ++j)
        sum += static_cast<double>(x_[i * kFeatures + j]) * kernel_1[j * 4 + k];
      logit += std::max(sum, 0.0) * kernel_2[k];
    }
    const double chance = 1 / (1 + std::exp(-logit));
    EXPECT_NEAR(static_cast<double>(predicted[i]), chance, 1e-5);
    loss -= y_[i] > 0.5F ? std::log(chance) : std::log(1 - chance);
    right += (chance > 0.5) == (y_[i] > 0.5F);
  }
  const Evaluation evaluation = made.evaluate(set());
  EXPECT_NEAR(evaluation.loss, loss / kExamples, 1e-5);
  EXPECT_NEAR(evaluation.metrics.at("accuracy"), right / kExamples, 1e-9);
}

TEST_F(ModelTest, EvaluatingChangesNothing) {
  Sequential one = model(session_);
  one.fit(set());
  Sequential other = model(session_);
  other.fit(set());
  other.evaluate(set());
  other.predict(set().batch(9));
  EXPECT_EQ(one.fit(set()).loss, other.fit(set()).loss);
}

TEST_F(ModelTest, ValidationIsWhatEvaluateSays) {
  Sequential made = model(session_);
  const data::Dataset held_out = set();
  const FitHistory history =
      made.fit(set(), {.epochs = 2, .validation = &held_out});
  const Evaluation evaluation = made.evaluate(set());
  EXPECT_DOUBLE_EQ(history.metrics.at("val_loss").back(), evaluation.loss);
  EXPECT_DOUBLE_EQ(history.metrics.at("val_accuracy").back(),
                   evaluation.metrics.at("accuracy"));
}

TEST_F(ModelTest, LabelsWithAndWithoutALastDimensionAreTheSame) {
  Sequential flat = model(session_);
  Sequential column = model(session_);
  const auto columns =
      data::from_arrays(x_.data(), {kFeatures}, y_.data(), {1}, kExamples)
          .batch(32);
  EXPECT_EQ(flat.fit(set()).loss, column.fit(columns).loss);
}

TEST_F(ModelTest, FilesAndArraysTrainTheSame) {
  const TestFolder folder;
  write_npy(folder / "x.npy", "<f4", kFeatures, x_);
  write_npy(folder / "y.npy", "<f4", 0, y_);
  const auto files =
      data::from_npy(folder / "x.npy", folder / "y.npy").batch(32);
  Sequential one = model(session_);
  const auto loss = one.fit(set()).loss;
  for (const auto& data : {files, files.prefetch(3), files.hold_in_memory()}) {
    Sequential other = model(session_);
    EXPECT_EQ(other.fit(data).loss, loss);
  }
}

TEST_F(ModelTest, NothingIsHeldAfterwards) {
  {
    Sequential made = model(session_);
    made.plan(set());
    EXPECT_EQ(session_.host_held_bytes(), 0) << session_.explain();
    made.fit(set().shuffle().prefetch().hold_in_memory());
    const std::int64_t kept = session_.host_held_bytes();
    EXPECT_GT(kept, 0) << "the weights";
    EXPECT_LT(kept, 64 * 1024) << session_.explain();
    made.evaluate(set());
    made.predict(set());
    EXPECT_EQ(session_.host_held_bytes(), kept) << session_.explain();
  }
  EXPECT_EQ(session_.host_held_bytes(), 0) << session_.explain();
}

TEST_F(ModelTest, ThePlanIsWhatFitTakes) {
  Sequential made = model(session_);
  const Plan plan = made.plan(set());
  EXPECT_TRUE(plan.fits());
  EXPECT_NE(plan.summary().find("host peak"), std::string::npos);
  EXPECT_NE(plan.json().find("\"fits\": true"), std::string::npos);
  const FitHistory history = made.fit(set());
  EXPECT_EQ(history.forecast_host_bytes, history.measured_host_bytes);
  EXPECT_LT(history.measured_host_bytes, plan.host_peak_bytes());
}

TEST_F(ModelTest, ATinyBudgetIsRefusedBeforeAnythingIsTaken) {
  Session tiny({.host = "1MiB", .threads = 2});
  Sequential made = model(tiny);
  EXPECT_FALSE(made.plan(set()).fits());
  std::string text;
  EXPECT_EQ(failure_of([&] { made.fit(set()); }, &text), Failure::does_not_fit);
  EXPECT_NE(text.find("1.0 MiB"), std::string::npos) << text;
  EXPECT_EQ(failure_of([&] { made.evaluate(set()); }), Failure::does_not_fit);
  EXPECT_EQ(failure_of([&] { made.predict(set()); }), Failure::does_not_fit);
  EXPECT_EQ(tiny.host_held_bytes(), 0);
}

TEST_F(ModelTest, WhatDoesNotFitTogetherIsBadInput) {
  const auto bad = [&](const auto& action, const char* named) {
    std::string text;
    EXPECT_EQ(failure_of(action, &text), Failure::bad_input) << text;
    EXPECT_NE(text.find(named), std::string::npos) << text;
  };
  Sequential uncompiled{Dense(1)};
  bad([&] { uncompiled.fit(set()); }, "compile");
  Sequential wide{Dense(3)};
  wide.compile(session_, {.loss = mean_squared_error});
  bad([&] { wide.fit(set()); }, "[3]");
  Sequential made = model(session_);
  bad([&] { made.weights("dense_1/kernel"); }, "dense_1/kernel");
  bad([&] { made.fit(data::from_npy("nothing.npy", "y.npy")); }, "nothing.npy");
  bad([&] { made.fit(set().batch(0)); }, "batch");
  bad([&] { Session({.host = "12"}); }, "12");
  bad([&] { Session({.device = "tpu"}); }, "tpu");
  bad([&] { made.compile(session_, {.precision = "f7"}); }, "f7");
  Sequential empty{};
  empty.compile(session_, {});
  bad([&] { empty.fit(set()); }, "layer");
  Sequential odd{Dense(0)};
  odd.compile(session_, {});
  bad([&] { odd.fit(set()); }, "units");
}

TEST_F(ModelTest, OtherShapesAfterTrainingAreBadInput) {
  Sequential made = model(session_);
  made.fit(set());
  const auto other =
      data::from_arrays(x_.data(), {kFeatures - 1}, y_.data(), {}, kExamples);
  EXPECT_EQ(failure_of([&] { made.predict(other); }), Failure::bad_input);
  EXPECT_EQ(failure_of([&] { made.evaluate(other); }), Failure::bad_input);
  EXPECT_EQ(failure_of([&] { made.fit(other); }), Failure::bad_input);
  EXPECT_EQ(made.predict(set()).size(), static_cast<std::size_t>(kExamples));
}

TEST(DeviceScopes, PlaceTheLayersMadeInside) {
  EXPECT_EQ(Dense(1).device, "");
  {
    const auto on_gpu = device("cuda:0");
    EXPECT_EQ(Dense(1).device, "cuda:0");
    {
      const auto on_cpu = device("cpu");
      EXPECT_EQ(Dropout(0.5).device, "cpu");
    }
    EXPECT_EQ(Activation(relu).device, "cuda:0");
    EXPECT_THROW(static_cast<void>(device("gpu")), Exception);
    EXPECT_EQ(Flatten().device, "cuda:0");
  }
  EXPECT_EQ(Dense(1).device, "");
}

}  // namespace
}  // namespace plimsoll::train::testing
