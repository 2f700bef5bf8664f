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

}  // namespace
}  // namespace plimsoll
