// Each network trains twenty steps inside the line, on the CPU.
#include "train/small_models.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plimsoll::examples {
namespace {

class SmallModels : public ::testing::TestWithParam<std::size_t> {};

TEST_P(SmallModels, TrainInsideTheLine) {
  Example example = std::move(trained_networks()[GetParam()]);
  Session session({.host = "1GiB", .threads = 2});
  {
    example.model.compile(session, example.compile);
    const auto plan = example.model.plan(example.data);
    ASSERT_TRUE(plan.fits()) << plan.summary();
    const auto history = example.model.fit(example.data, {.epochs = 2});
    ASSERT_EQ(history.loss.size(), 2u);
    EXPECT_TRUE(std::isfinite(history.loss[0]));
    EXPECT_LT(history.loss[1], history.loss[0]);
    EXPECT_EQ(history.forecast_host_bytes, history.measured_host_bytes);
    EXPECT_LE(history.measured_host_bytes, session.host_budget_bytes());
    EXPECT_GT(session.host_held_bytes(), 0);  // the weights
    const auto again = example.model.evaluate(example.data);
    EXPECT_TRUE(std::isfinite(again.loss));
    const Example gone = std::move(example);
  }
  EXPECT_EQ(session.host_held_bytes(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, SmallModels,
                         ::testing::Range(std::size_t{0},
                                          trained_networks().size()),
                         [](const auto& test) {
                           return trained_networks()[test.param].name;
                         });

}  // namespace
}  // namespace plimsoll::examples
