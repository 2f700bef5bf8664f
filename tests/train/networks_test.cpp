#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "models.h"
#include "train/stored_networks.h"

namespace plimsoll::train::testing {
namespace {

class Networks : public ::testing::TestWithParam<const char*> {};

TEST_P(Networks, HavePyTorchsGradientsInF32) {
  expect_pytorchs(GetParam(), "cpu", "f32", kF32Limit);
}
TEST_P(Networks, HavePyTorchsGradientsInBf16) {
  expect_pytorchs(GetParam(), "cpu", "bf16", kBf16Limit);
}

INSTANTIATE_TEST_SUITE_P(All, Networks, ::testing::ValuesIn(kNetworks),
                         [](const auto& test) { return test.param; });

TEST(SmallNetworks, AreTheSameAsTheirStoredJobs) {
  for (const auto& example : examples::small_networks()) {
    const std::string path = PLIMSOLL_NETWORKS "/" + example.name + ".toml";
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    EXPECT_EQ(text.str(), examples::job_text(example))
        << path << " is of another network: see its README.md";
  }
}

}  // namespace
}  // namespace plimsoll::train::testing
