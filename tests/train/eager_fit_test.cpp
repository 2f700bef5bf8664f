// A step by hand beside the same step of a planned job: the same bits.
#include <gtest/gtest.h>

#include "plimsoll/plimsoll.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kExamples = 48, kFeatures = 20, kHidden = 24,
                       kOutputs = 5;
constexpr double kRate = 0.5;  // its products are exact
const char* const kNames[] = {"dense_1/kernel", "dense_1/bias",
                              "dense_2/kernel", "dense_2/bias"};

struct Case {
  Loss loss;
  ActivationFunction last;
  // Of labels and what the last layer gives, before its activation.
  std::function<Tensor(const Tensor&, const Tensor&)> by_hand;
};

class EagerFit : public ::testing::Test {
 protected:
  EagerFit() {
    for (std::int64_t i = 0; i < kExamples * kFeatures; ++i) {
      x_.push_back(static_cast<float>((i * 37 % 101) - 50) / 47);
    }
    for (std::int64_t i = 0; i < kExamples; ++i) {
      for (std::int64_t k = 0; k < kOutputs; ++k) {
        y_.push_back(i * 7 % kOutputs == k ? 1.0f : 0.0f);
      }
    }
  }

  // Weights after one step of a job over all examples.
  std::vector<std::vector<double>> fitted(const Case& one, double rate) {
    Sequential model{Dense(kHidden, relu), Dense(kOutputs, one.last)};
    model.compile(session_,
                  {.optimizer = SGD{.learning_rate = rate}, .loss = one.loss});
    model.fit(data::from_arrays(x_.data(), {kFeatures}, y_.data(), {kOutputs},
                                kExamples)
                  .batch(kExamples));
    std::vector<std::vector<double>> weights;
    for (const char* name : kNames) weights.push_back(model.weights(name));
    return weights;
  }

  static std::vector<Tensor> tensors(
      const std::vector<std::vector<double>>& weights) {
    const Extents shapes[] = {
        {kFeatures, kHidden}, {kHidden}, {kHidden, kOutputs}, {kOutputs}};
    std::vector<Tensor> made;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      made.push_back(Tensor::of(weights[i], shapes[i]).cast(DType::f32));
    }
    return made;
  }

  static std::vector<Tensor> gradients(const Case& one,
                                       const std::vector<Tensor>& weights,
                                       const Tensor& x, const Tensor& y) {
    GradientTape tape;
    for (const Tensor& weight : weights) tape.watch(weight);
    const Tensor hidden = relu(matmul(x, weights[0]) + weights[1]);
    const Tensor z = matmul(hidden, weights[2]) + weights[3];
    return tape.gradient(one.by_hand(y, z), weights);
  }

  Tensor x() const { return Tensor::of(x_, {kExamples, kFeatures}); }
  Tensor y() const { return Tensor::of(y_, {kExamples, kOutputs}); }

  void check_same_bits(const Case& one) {
    // The seed gives the same start.
    const auto start = tensors(fitted(one, 0));
    const auto after = fitted(one, kRate);
    const auto by_hand = gradients(one, start, x(), y());
    for (std::size_t i = 0; i < start.size(); ++i) {
      const Tensor moved = start[i] - by_hand[i] * kRate;
      EXPECT_EQ(moved.to_doubles(), after[i]) << kNames[i];
      EXPECT_NE(moved.to_doubles(), start[i].to_doubles()) << kNames[i];
    }
  }

  Session session_{{.host = "256MiB", .threads = 2}};
  std::vector<float> x_, y_;
};

const Case kSquared{mean_squared_error, linear, mean_squared_error};
const Case kCrossentropy{categorical_crossentropy, softmax,
                         [](const Tensor& y, const Tensor& z) {
                           return mean(softmax_cross_entropy_with_logits(y, z));
                         }};

TEST_F(EagerFit, SquaredErrorsMoveWeightsAlike) { check_same_bits(kSquared); }

TEST_F(EagerFit, CrossentropiesMoveWeightsAlike) {
  check_same_bits(kCrossentropy);
}

// Means of four parts, of one size, are the whole's.
TEST_F(EagerFit, PartsAddUpToTheWhole) {
  for (const Case& one : {kSquared, kCrossentropy}) {
    const auto weights = tensors(fitted(one, 0));
    const auto whole = gradients(one, weights, x(), y());
    std::vector<Tensor> sums(weights.size());
    constexpr std::int64_t kParts = 4, kRows = kExamples / kParts;
    for (std::int64_t part = 0; part < kParts; ++part) {
      const Index rows = slice(part * kRows, (part + 1) * kRows);
      const auto some =
          gradients(one, weights, x()[{rows, slice()}], y()[{rows, slice()}]);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i] = sums[i].defined() ? sums[i] + some[i] : some[i];
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const Tensor away = abs(sums[i] / double{kParts} - whole[i]);
      EXPECT_LE(max(away).item(), 1e-6 * max(abs(whole[i])).item())
          << one.loss.name << " " << kNames[i];
    }
  }
}

}  // namespace
}  // namespace plimsoll
