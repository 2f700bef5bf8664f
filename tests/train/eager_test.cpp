// Tensors of a session: activations, losses, and the line.
#include <gmock/gmock.h>

#include <cmath>

#include "plimsoll/plimsoll.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

TEST(EagerSession, ActivationsAndLossesCanBeCalled) {
  const Session session({.host = "256MiB", .threads = 2});
  const Tensor x = Tensor::of(std::vector<float>{-1, 0, 2}, {3});
  EXPECT_EQ(relu(x).to_floats(), (std::vector<float>{0, 0, 2}));
  EXPECT_FLOAT_EQ(static_cast<float>(sum(softmax(x)).item()), 1);
  const Tensor labels = Tensor::of(std::vector<float>{1, 0}, {1, 2});
  const Tensor guess = Tensor::of(std::vector<float>{0.25f, 0.75f}, {1, 2});
  EXPECT_FLOAT_EQ(static_cast<float>(mean_squared_error(labels, guess).item()),
                  0.5625f);
  EXPECT_NEAR(binary_crossentropy(labels, guess).item(), -std::log(0.25), 1e-6);
  EXPECT_NEAR(categorical_crossentropy(labels, guess).item(), -std::log(0.25),
              1e-6);
  const Tensor index = Tensor::of(std::vector<std::int32_t>{1}, {1});
  EXPECT_NEAR(sparse_categorical_crossentropy(index, guess).item(),
              -std::log(0.75), 1e-6);
}

// {n} beside {n, 1} is not n times n.
TEST(EagerSession, LabelsAreTakenAsPredictionsAre) {
  const Session session({.host = "256MiB", .threads = 1});
  const Tensor labels = Tensor::of(std::vector<float>{1, 2, 3}, {3});
  const Tensor guess = Tensor::of(std::vector<float>{1, 2, 5}, {3, 1});
  EXPECT_NEAR(mean_squared_error(labels, guess).item(), 4.0 / 3, 1e-6);
  try {
    mean_squared_error(labels, ones({4}));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Exception& wrong) {
    EXPECT_THAT(wrong.what(), HasSubstr("labels f32[3] do not fit predictions "
                                        "f32[4]"));
  }
}

// A plan counts the process, so tensors must not count it again.
TEST(EagerSession, TensorsLeaveModelsTheirRoom) {
  Session session({.host = "256MiB", .threads = 1});
  Sequential model{Dense(4)};
  model.compile(session);
  const std::vector<float> x(64 * 8), y(64 * 4);
  const auto data =
      data::from_arrays(x.data(), {8}, y.data(), {4}, 64).batch(8);
  const std::int64_t before = model.plan(data).host_peak_bytes();
  const Tensor small = ones({4});
  EXPECT_LT(model.plan(data).host_peak_bytes(), before + (4 << 20));
}

// Keeping all would take 40 times the line.
TEST(EagerSession, AChainOfProductsHoldsTwo) {
  Session session({.host = "192MiB", .threads = 2});
  Tensor x = ones({10000, 1000});  // 40 MB
  for (int i = 0; i < 40; ++i) {
    x = matmul(x, random_normal({1000, 1000}, i, 0, 0.03));
  }
  EXPECT_EQ(x.shape(), (Extents{10000, 1000}));
  EXPECT_LE(session.host_held_bytes(), session.host_budget_bytes());
  std::vector<Tensor> kept;
  try {
    while (kept.size() < 40) kept.push_back(x * 2.0);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Exception& over) {
    EXPECT_EQ(over.failure(), Failure::over_budget);
    EXPECT_THAT(over.what(), HasSubstr("eager"));
  }
  EXPECT_LE(kept.size(), 4u);
  kept.clear();
  EXPECT_TRUE((x + x).defined());
}

TEST(EagerSession, WithoutASessionTensorsSayWhatIsMissing) {
  try {
    zeros({2});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Exception& missing) {
    EXPECT_THAT(missing.what(), HasSubstr("need a session"));
  }
}

TEST(EagerSession, TensorsOutliveTheirSession) {
  Tensor x;
  {
    const Session session({.host = "256MiB", .threads = 1});
    x = ones({4});
  }
  EXPECT_EQ(x.shape(), (Extents{4}));
  EXPECT_THROW(x.item(), Exception);
  const Session another({.host = "256MiB", .threads = 1});
  EXPECT_THROW(x + ones({4}), Exception);
  EXPECT_EQ(sum(ones({4})).item(), 4);
}

TEST(EagerSession, OptimisersByHand) {
  Session session({.host = "256MiB", .threads = 1});
  std::vector<Variable> variables = {Variable(full({2}, 1), "w"),
                                     Variable(zeros({3}), "unused")};
  OptimizerState momentum(SGD{.learning_rate = 0.5, .momentum = 0.5});
  EXPECT_EQ(momentum.learning_rate(), 0.5);
  for (int i = 0; i < 2; ++i) {
    GradientTape tape;
    const Tensor loss = sum(variables[0] * 2.0);
    const auto gradients = tape.gradient(loss, variables);
    EXPECT_FALSE(gradients[1].defined());
    momentum.apply_gradients(gradients, variables);
  }
  // 1 - 0.5 * 2, then - 0.5 * 2 - 0.5 * 1.
  EXPECT_EQ(variables[0].value().to_floats(), (std::vector<float>{-1.5, -1.5}));
  EXPECT_EQ(momentum.iterations(), 2);
  momentum.set_learning_rate(0.25);
  EXPECT_EQ(momentum.learning_rate(), 0.25);
  const auto complaint = [](auto&& work) {
    try {
      work();
    } catch (const Exception& wrong) {
      return std::string(wrong.what());
    }
    return std::string();
  };
  EXPECT_THAT(
      complaint([&] { momentum.apply_gradients({ones({2})}, variables); }),
      HasSubstr("1 gradients for 2 variables"));
  EXPECT_THAT(
      complaint([&] {
        momentum.apply_gradients({ones({4}), {}}, variables);
      }),
      HasSubstr("the gradient of `w` is f32[4], but the variable is f32[2]"));
  EXPECT_THAT(complaint([] { OptimizerState(RMSprop{.rho = 1.5}); }),
              HasSubstr("rho must be a number"));
  EXPECT_THAT(complaint([] {
                OptimizerState(SGD{.learning_rate = CosineDecay{}})
                    .set_learning_rate(1);
              }),
              HasSubstr("schedule"));
}

// Where there is no memory for one variable's update, none has changed.
TEST(EagerSession, UpdatesAreWholeOrNotAtAll) {
  Session session({.host = "256MiB", .threads = 1});
  std::vector<Variable> variables = {Variable(zeros({64}), "small"),
                                     Variable(zeros({4 << 20}), "large")};
  const std::vector<Tensor> gradients = {ones({64}), ones({4 << 20})};
  OptimizerState descent(SGD{.learning_rate = 1.0});
  descent.apply_gradients(gradients, variables);
  {
    // Both must be copied, and there is no room for the large one.
    const Tensor small = variables[0], large = variables[1];
    std::vector<Tensor> full;
    try {
      for (int i = 0; i < 100; ++i) full.push_back(zeros({1 << 20}));
    } catch (const Exception& line) {
      EXPECT_EQ(line.failure(), Failure::over_budget);
    }
    try {
      descent.apply_gradients(gradients, variables);
      ADD_FAILURE() << "there was room";
    } catch (const Exception& line) {
      EXPECT_EQ(line.failure(), Failure::over_budget);
    }
    full.clear();
    EXPECT_EQ(variables[0].value()[0].item(), -1);
    EXPECT_EQ(descent.iterations(), 1);
  }
  descent.apply_gradients(gradients, variables);
  EXPECT_EQ(variables[0].value()[0].item(), -2);
  EXPECT_EQ(variables[1].value()[0].item(), -2);
}

// An optimiser that goes on with other variables does not keep the old ones.
TEST(EagerSession, MomentsGoWithTheirVariables) {
  Session session({.host = "256MiB", .threads = 1});
  OptimizerState adam(Adam{});
  std::int64_t held = 0;
  for (int fold = 0; fold < 5; ++fold) {
    std::vector<Variable> variables = {Variable(zeros({1 << 20}), "w")};
    adam.apply_gradients({ones({1 << 20})}, variables);
    if (fold == 1) held = session.host_held_bytes();
  }
  EXPECT_LE(session.host_held_bytes(), held);
  std::vector<Variable> wide = {Variable(zeros({4}, DType::f64), "wide")};
  adam.apply_gradients({ones({4}, DType::f64)}, wide);
  EXPECT_LT(wide[0].value()[0].item(), 0);
}

// What could not be made is not lost either.
TEST(EagerSession, AFirstUpdateThatFailsCanBeAskedAbout) {
  Session session({.host = "512MiB", .threads = 1});
  std::vector<Variable> variables = {Variable(zeros({32 << 20}), "w")};
  const Tensor gradient = ones({32 << 20});
  OptimizerState adam(Adam{});
  EXPECT_THROW(adam.apply_gradients({gradient}, variables), Exception);
  EXPECT_EQ(adam.iterations(), 0);
  adam.set_learning_rate(0.5);
  EXPECT_EQ(adam.learning_rate(), 0.5);
}

// In place: one parameter more would not be there.
TEST(EagerSession, UpdatesNeedNoMemoryOfTheirOwn) {
  Session session({.host = "256MiB", .threads = 1});
  const std::int64_t floor = [&] {
    const Tensor small = ones({1});
    return session.host_held_bytes();
  }();
  constexpr std::int64_t kElements = 4 << 20;  // of 16 MiB
  std::vector<Variable> variables = {Variable(zeros({kElements}), "w")};
  OptimizerState adam(Adam{});
  for (int i = 0; i < 3; ++i) {
    adam.apply_gradients({ones({kElements})}, variables);
  }
  // The variable, two moments, the gradient, and what the pool may keep.
  EXPECT_LE(session.host_held_bytes() - floor, kElements * 4 * 45 / 10);
}

}  // namespace
}  // namespace plimsoll
