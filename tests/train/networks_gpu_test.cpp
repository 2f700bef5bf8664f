#include <gtest/gtest.h>

#include "train/missing_gpu.h"
#include "train/stored_networks.h"

namespace plimsoll::train::testing {
namespace {

class NetworksGpu : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string missing = missing_gpu();
    if (!missing.empty()) GTEST_SKIP() << missing;
  }
};

TEST_P(NetworksGpu, HavePyTorchsGradientsInF32) {
  expect_pytorchs(GetParam(), "cuda:0", "f32", kF32Limit);
}
TEST_P(NetworksGpu, HavePyTorchsGradientsInBf16) {
  expect_pytorchs(GetParam(), "cuda:0", "bf16", kBf16Limit);
}

INSTANTIATE_TEST_SUITE_P(All, NetworksGpu, ::testing::ValuesIn(kNetworks),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace plimsoll::train::testing
