// Training learns: known solutions, separable classes, every optimiser.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "npy_file.h"
#include "plimsoll/plimsoll.h"

namespace plimsoll::train::testing {
namespace {

constexpr std::int64_t kFeatures = 5;
constexpr std::int64_t kTargets = 2;

// y = X w + b without noise: the solution is known.
struct LinearProblem {
  std::vector<double> weights, bias;
  std::vector<double> x, y;

  explicit LinearProblem(std::int64_t examples) {
    std::mt19937_64 dice(7);
    std::normal_distribution<double> normal;
    for (int i = 0; i < kFeatures * kTargets; ++i)
      weights.push_back(normal(dice));
    for (int k = 0; k < kTargets; ++k) bias.push_back(normal(dice));
    for (std::int64_t i = 0; i < examples; ++i) {
      const std::size_t first = x.size();
      for (int j = 0; j < kFeatures; ++j) x.push_back(normal(dice));
      for (std::size_t k = 0; k < kTargets; ++k) {
        double sum = bias[k];
        for (std::size_t j = 0; j < kFeatures; ++j)
          sum += x[first + j] * weights[j * kTargets + k];
        y.push_back(sum);
      }
    }
  }
};

void expect_near(const std::vector<double>& got,
                 const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance) << "at " << i;
}

class Linear : public ::testing::TestWithParam<const char*> {};

TEST_P(Linear, ReachesItsKnownSolution) {
  const TestFolder folder;
  const LinearProblem problem(1003);  // the last batch is a partial one
  write_npy(folder / "x.npy", "<f8", kFeatures, problem.x);
  write_npy(folder / "y.npy", "<f8", kTargets, problem.y);
  Session session({.host = "1GiB", .threads = 2});
  Sequential model{Dense(kTargets)};
  model.compile(session, {.optimizer = SGD{.learning_rate = 0.05},
                          .loss = mean_squared_error,
                          .precision = GetParam()});
  const auto data = data::from_npy(folder / "x.npy", folder / "y.npy")
                        .shuffle()
                        .batch(32)
                        .prefetch();
  const FitHistory history = model.fit(data, {.epochs = 30});
  EXPECT_LT(history.loss.back(), 1e-5);
  EXPECT_EQ(history.forecast_host_bytes, history.measured_host_bytes);
  expect_near(model.weights("dense_1/kernel"), problem.weights, 1e-2);
  expect_near(model.weights("dense_1/bias"), problem.bias, 1e-2);
}

INSTANTIATE_TEST_SUITE_P(Precisions, Linear, ::testing::Values("f32", "f64"));

// The exclusive or of two signs: no single layer can tell them apart.
struct Xor {
  std::vector<float> x, y;

  explicit Xor(std::int64_t examples, std::uint64_t seed = 3) {
    std::mt19937_64 dice(seed);
    std::uniform_real_distribution<float> away(0.1F, 1.0F);
    for (std::int64_t i = 0; i < examples; ++i) {
      const bool a = dice() & 1, b = dice() & 1;
      x.push_back(a ? away(dice) : -away(dice));
      x.push_back(b ? away(dice) : -away(dice));
      y.push_back(a != b ? 1.0F : 0.0F);
    }
  }
  data::Dataset set() const {
    return data::from_arrays(x.data(), {2}, y.data(), {},
                             static_cast<std::int64_t>(y.size()));
  }
};

class TwoClasses : public ::testing::TestWithParam<const char*> {};

TEST_P(TwoClasses, AreToldApart) {
  const Xor seen(2000), unseen(500, 4);
  Session session({.host = "1GiB", .threads = 2});
  Sequential model{Dense(16, tanh), Dense(1, sigmoid)};
  model.compile(session, {.optimizer = Adam{.learning_rate = 0.01},
                          .loss = binary_crossentropy,
                          .metrics = {"accuracy"},
                          .precision = GetParam()});
  const FitHistory history =
      model.fit(seen.set().shuffle().batch(50), {.epochs = 30});
  EXPECT_GT(history.metrics.at("accuracy").back(), 0.99);
  EXPECT_GT(model.evaluate(unseen.set()).metrics.at("accuracy"), 0.99);
}

INSTANTIATE_TEST_SUITE_P(Precisions, TwoClasses,
                         ::testing::Values("f32", "f64"));

TEST(Classes, AreLearntFromDenseAndSparseLabels) {
  // Three blobs; the label is which, once as a number and once as a row.
  std::mt19937_64 dice(5);
  std::normal_distribution<float> noise(0, 0.3F);
  std::vector<float> x, sparse, rows;
  for (int i = 0; i < 900; ++i) {
    const int kind = i % 3;
    x.push_back(noise(dice) + (kind == 0 ? 2.0F : -1.0F));
    x.push_back(noise(dice) + (kind == 1 ? 2.0F : -1.0F));
    sparse.push_back(static_cast<float>(kind));
    for (int k = 0; k < 3; ++k) rows.push_back(k == kind ? 1.0F : 0.0F);
  }
  Session session({.host = "1GiB", .threads = 2});
  for (const bool as_rows : {false, true}) {
    Sequential model{Dense(3, softmax)};
    model.compile(session, {.optimizer = Adam{.learning_rate = 0.05},
                            .loss = as_rows ? categorical_crossentropy
                                            : sparse_categorical_crossentropy,
                            .metrics = {"accuracy"}});
    const auto data =
        as_rows ? data::from_arrays(x.data(), {2}, rows.data(), {3}, 900)
                : data::from_arrays(x.data(), {2}, sparse.data(), {}, 900);
    const FitHistory history = model.fit(data.batch(30), {.epochs = 10});
    EXPECT_GT(history.metrics.at("accuracy").back(), 0.99) << as_rows;
  }
}

TEST(Optimizers, AllLowerTheLoss) {
  const Xor set(500);
  Session session({.host = "1GiB", .threads = 2});
  const Optimizer all[] = {
      SGD{.learning_rate = 0.1}, SGD{.learning_rate = 0.05, .momentum = 0.9},
      Adam{.learning_rate = 0.01}, AdamW{.learning_rate = 0.01}};
  std::vector<double> reached;
  for (const Optimizer& optimizer : all) {
    Sequential model{Dense(8, relu), Dense(1, sigmoid)};
    model.compile(session,
                  {.optimizer = optimizer, .loss = binary_crossentropy});
    const FitHistory history = model.fit(set.set().batch(20), {.epochs = 8});
    EXPECT_LT(history.loss.back(), 0.8 * history.loss.front());
    for (const double other : reached)
      EXPECT_NE(history.loss.back(), other) << "two are the same";
    reached.push_back(history.loss.back());
  }
}

// With plain SGD, one epoch of partial batches can be followed by hand.
std::vector<double> by_hand(const std::vector<float>& x,
                            const std::vector<float>& y, std::size_t batch,
                            double rate, double weight) {
  double bias = 0;
  for (std::size_t first = 0; first < x.size(); first += batch) {
    const std::size_t end = std::min(first + batch, x.size());
    double to_weight = 0, to_bias = 0;
    for (std::size_t i = first; i < end; ++i) {
      const double error = x[i] * weight + bias - y[i];
      to_weight += 2 * error * x[i];
      to_bias += 2 * error;
    }
    const auto count = static_cast<double>(end - first);
    weight -= rate * to_weight / count;
    bias -= rate * to_bias / count;
  }
  return {weight, bias};
}

TEST(PartialBatches, AreTrainedWithTheirOwnMean) {
  Session session({.host = "1GiB", .threads = 2});
  for (const std::int64_t examples : {100, 32, 33, 7, 1}) {
    std::vector<float> x, y;
    for (std::int64_t i = 0; i < examples; ++i) {
      x.push_back(static_cast<float>(i % 5) - 2);
      y.push_back(static_cast<float>(i % 7));
    }
    const auto data =
        data::from_arrays(x.data(), {1}, y.data(), {1}, examples).batch(32);
    Sequential model{Dense(1)};
    // A rate of 0 shows where the weight starts.
    model.compile(session, {.optimizer = SGD{.learning_rate = 0}});
    model.fit(data);
    const double start = model.weights("dense_1/kernel")[0];
    model.compile(session, {.optimizer = SGD{.learning_rate = 0.1}});
    const FitHistory history = model.fit(data);
    const auto want = by_hand(x, y, 32, 0.1F, start);
    EXPECT_NEAR(model.weights("dense_1/kernel")[0], want[0], 1e-5);
    EXPECT_NEAR(model.weights("dense_1/bias")[0], want[1], 1e-5);
    EXPECT_EQ(history.forecast_host_bytes, history.measured_host_bytes);
  }
}

// A weight that gets no gradient any more must not be left with moments in the
// subnormal range: arithmetic there is tens of times slower.
TEST(Optimizers, MomentsFadeToZero) {
  constexpr std::int64_t kExamples = 2000;
  std::vector<float> x(2 * kExamples, 0.0F), y(kExamples, 1.0F);
  for (std::size_t i = 1; i < x.size(); i += 2) x[i] = 1;
  x[0] = 1;  // the first feature is seen once
  const auto data =
      data::from_arrays(x.data(), {2}, y.data(), {}, kExamples).batch(1);
  Session session({.host = "1GiB", .threads = 2});
  const std::pair<Optimizer, const char*> all[] = {
      {Adam{}, "dense_1/kernel/first_moment"},
      {SGD{.learning_rate = 0.01, .momentum = 0.9}, "dense_1/kernel/velocity"}};
  for (const auto& [optimizer, state] : all) {
    Sequential model{Dense(1)};
    model.compile(session, {.optimizer = optimizer});
    model.fit(data);
    EXPECT_EQ(model.weights(state)[0], 0) << state;
  }
}

}  // namespace
}  // namespace plimsoll::train::testing
