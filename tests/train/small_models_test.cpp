// Each network trains twenty steps inside the line, on the CPU.
#include "train/small_models.h"

#include <gtest/gtest.h>

namespace plimsoll::examples {
namespace {

class SmallModels : public ::testing::TestWithParam<std::size_t> {};

TEST_P(SmallModels, TrainInsideTheLine) {
  Session session({.host = "1GiB", .threads = 2});
  expect_to_train(std::move(trained_networks()[GetParam()]), session);
}

INSTANTIATE_TEST_SUITE_P(All, SmallModels,
                         ::testing::Range(std::size_t{0},
                                          trained_networks().size()),
                         [](const auto& test) {
                           return trained_networks()[test.param].name;
                         });

}  // namespace
}  // namespace plimsoll::examples
