// Each network trains twenty steps inside both lines, on a GPU, in f32 and
// bf16.
#include <gtest/gtest.h>

#include <tuple>

#include "train/missing_gpu.h"
#include "train/small_models.h"

namespace plimsoll::examples {
namespace {

using Case = std::tuple<std::size_t, const char*>;

class SmallModelsGpu : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const std::string missing = train::testing::missing_gpu();
    if (!missing.empty()) GTEST_SKIP() << missing;
  }
};

TEST_P(SmallModelsGpu, TrainInsideBothLines) {
  const auto [number, precision] = GetParam();
  Example example = std::move(trained_networks()[number]);
  example.compile.precision = precision;
  Session session(
      {.host = "4GiB", .device = "cuda:0", .device_memory = "2GiB"});
  expect_to_train(std::move(example), session);
}

INSTANTIATE_TEST_SUITE_P(
    All, SmallModelsGpu,
    ::testing::Combine(::testing::Range(std::size_t{0},
                                        trained_networks().size()),
                       ::testing::Values("f32", "bf16")),
    [](const auto& test) {
      return trained_networks()[std::get<0>(test.param)].name + "_" +
             std::get<1>(test.param);
    });

}  // namespace
}  // namespace plimsoll::examples
