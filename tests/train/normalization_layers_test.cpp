// Layers of normalization in models: they train, and batch statistics move in
// training alone.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "plimsoll/plimsoll.h"
#include "train/network.h"

namespace plimsoll::train::testing {
namespace {

constexpr std::int64_t kExamples = 400;
constexpr std::int64_t kFeatures = 4;

// Features far from zero and of unlike sizes: hard without normalization.
struct Problem {
  std::vector<float> x, y;

  Problem() {
    std::mt19937_64 dice(11);
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < kExamples; ++i) {
      float sum = 0;
      for (int j = 0; j < kFeatures; ++j) {
        const float value = normal(dice);
        sum += j % 2 == 0 ? value : -value;
        x.push_back(10 * static_cast<float>(j) +
                    static_cast<float>(j + 1) * value);
      }
      y.push_back(sum > 0 ? 1.0F : 0.0F);
    }
  }
  data::Dataset set() const {
    return data::from_arrays(x.data(), {kFeatures}, y.data(), {}, kExamples);
  }
};

Sequential compiled(Session& session, std::vector<Layer> layers,
                    const char* precision = "f32") {
  Sequential model(std::move(layers));
  model.compile(session, {.optimizer = Adam{.learning_rate = 0.01},
                          .loss = binary_crossentropy,
                          .metrics = {"accuracy"},
                          .precision = precision});
  return model;
}

Layer without(Layer layer, bool scale, bool center) {
  layer.scale = !scale;
  layer.center = !center;
  return layer;
}

TEST(NormalizationLayers, AllTrain) {
  const Problem problem;
  Session session({.host = "1GiB", .threads = 2});
  const Layer all[] = {LayerNormalization(),
                       RMSNormalization(),
                       GroupNormalization(4),
                       BatchNormalization(0.9),
                       without(LayerNormalization(), true, true),
                       without(BatchNormalization(0.9), true, false),
                       without(GroupNormalization(2), false, true)};
  for (const char* precision : {"f32", "f64"}) {
    for (const Layer& layer : all) {
      Sequential model = compiled(
          session, {Dense(16), layer, Activation(relu), Dense(1, sigmoid)},
          precision);
      const FitHistory history =
          model.fit(problem.set().batch(32), {.epochs = 15});
      EXPECT_LT(history.loss.back(), 0.5 * history.loss.front())
          << layer.type << " in " << precision;
      EXPECT_GT(history.metrics.at("accuracy").back(), 0.85)
          << layer.type << " in " << precision;
      EXPECT_EQ(history.forecast_host_bytes, history.measured_host_bytes)
          << layer.type;
    }
  }
}

TEST(NormalizationLayers, HaveTheWeightsOfKeras) {
  const Problem problem;
  Session session({.host = "1GiB", .threads = 2});
  Sequential model =
      compiled(session, {Dense(8), LayerNormalization(), RMSNormalization(),
                         GroupNormalization(2), BatchNormalization(),
                         Dense(1, sigmoid)});
  model.fit(problem.set().batch(50));
  for (const char* name :
       {"layer_normalization_1/gamma", "layer_normalization_1/beta",
        "rms_normalization_1/scale", "group_normalization_1/gamma",
        "group_normalization_1/beta", "batch_normalization_1/gamma",
        "batch_normalization_1/beta", "batch_normalization_1/moving_mean",
        "batch_normalization_1/moving_variance"}) {
    EXPECT_EQ(model.weights(name).size(), 8u) << name;
  }
}

// The first layer sees the features as they are: all of it can be followed.
TEST(NormalizationLayers, MovingStatisticsFollowBatchesInTrainingAlone) {
  const Problem problem;
  constexpr double kMomentum = 0.8;
  constexpr std::size_t kBatch = 150;  // the last one is a partial one
  Session session({.host = "1GiB", .threads = 2});
  Sequential model =
      compiled(session, {BatchNormalization(kMomentum), Dense(1, sigmoid)});
  model.fit(problem.set().batch(kBatch));
  const auto mean = model.weights("batch_normalization_1/moving_mean");
  const auto variance = model.weights("batch_normalization_1/moving_variance");
  for (std::size_t c = 0; c < kFeatures; ++c) {
    double want_mean = 0;
    double want_variance = 1;
    for (std::size_t first = 0; first < kExamples; first += kBatch) {
      const std::size_t end = std::min<std::size_t>(kExamples, first + kBatch);
      const auto count = static_cast<double>(end - first);
      double m = 0;
      double v = 0;
      for (std::size_t i = first; i < end; ++i) {
        m += static_cast<double>(problem.x[i * kFeatures + c]) / count;
      }
      for (std::size_t i = first; i < end; ++i) {
        const double d = static_cast<double>(problem.x[i * kFeatures + c]) - m;
        v += d * d / count;
      }
      want_mean = kMomentum * want_mean + (1 - kMomentum) * m;
      want_variance = kMomentum * want_variance + (1 - kMomentum) * v;
    }
    EXPECT_NEAR(mean[c], want_mean, 1e-5 * (1 + std::abs(want_mean))) << c;
    EXPECT_NEAR(variance[c], want_variance, 1e-5 * want_variance) << c;
  }

  // What is predicted comes from them, whatever the batch.
  const auto gamma = model.weights("batch_normalization_1/gamma");
  const auto beta = model.weights("batch_normalization_1/beta");
  const auto kernel = model.weights("dense_1/kernel");
  const auto bias = model.weights("dense_1/bias");
  const std::vector<float> predicted = model.predict(problem.set().batch(7));
  for (std::size_t i = 0; i < kExamples; ++i) {
    double logit = bias[0];
    for (std::size_t c = 0; c < kFeatures; ++c) {
      const double x = static_cast<double>(problem.x[i * kFeatures + c]);
      logit +=
          ((x - mean[c]) / std::sqrt(variance[c] + 1e-3) * gamma[c] + beta[c]) *
          kernel[c];
    }
    EXPECT_NEAR(static_cast<double>(predicted[i]), 1 / (1 + std::exp(-logit)),
                1e-5);
  }
  EXPECT_EQ(model.predict(problem.set().batch(64)), predicted);
  const double loss = model.evaluate(problem.set().batch(100)).loss;
  EXPECT_NEAR(model.evaluate(problem.set().batch(33)).loss, loss, 1e-6);
  EXPECT_EQ(model.weights("batch_normalization_1/moving_mean"), mean);
  EXPECT_EQ(model.weights("batch_normalization_1/moving_variance"), variance);
}

TEST(NormalizationLayers, StatisticsCarryOverBetweenFits) {
  const Problem problem;
  Session session({.host = "1GiB", .threads = 2});
  const auto layers = [] {
    return std::vector<Layer>{Dense(6), BatchNormalization(0.9),
                              Dense(1, sigmoid)};
  };
  Sequential once = compiled(session, layers());
  const FitHistory whole = once.fit(problem.set().batch(40), {.epochs = 4});
  Sequential twice = compiled(session, layers());
  twice.fit(problem.set().batch(40), {.epochs = 2});
  const FitHistory rest = twice.fit(problem.set().batch(40), {.epochs = 2});
  EXPECT_EQ(rest.loss.back(), whole.loss.back());
  EXPECT_EQ(once.weights("batch_normalization_1/moving_variance"),
            twice.weights("batch_normalization_1/moving_variance"));
}

TEST(NormalizationLayers, GroupsMustDivideTheChannels) {
  const Problem problem;
  Session session({.host = "1GiB", .threads = 2});
  Sequential model =
      compiled(session, {Dense(6), GroupNormalization(4), Dense(1, sigmoid)});
  try {
    model.fit(problem.set().batch(32));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Exception& error) {
    EXPECT_NE(std::string(error.what())
                  .find("group_normalization_1: group_norm: 4 groups do not "
                        "divide the 6 channels of x f32[B, 6]"),
              std::string::npos)
        << error.what();
  }
}

TEST(NormalizationLayers, ModelsWithBatchStatisticsAreFound) {
  ModelSpec model;
  model.layers.resize(2);
  model.layers[0].type = "layer_normalization";
  model.layers[1].type = "dense";
  EXPECT_FALSE(uses_batch_statistics(model));
  model.layers[1].type = "batch_normalization";
  EXPECT_TRUE(uses_batch_statistics(model));
}

}  // namespace
}  // namespace plimsoll::train::testing
