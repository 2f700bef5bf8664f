// pl::config: devices listed, limits as caps, nothing set too late.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "plimsoll/plimsoll.h"
#include "train/cuda_profile.h"
#include "train/process_config.h"

namespace plimsoll::train::testing {
namespace {

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() { reset_config(); }
  ~ConfigTest() override { reset_config(); }

  // From here on in this process there are two GPUs, of 8 and 16 GiB.
  static void plug_in_gpus() {
    for (const char* library : {PLIMSOLL_FAKE_NVML, PLIMSOLL_FAKE_CUDA}) {
      ASSERT_NE(dlopen(library, RTLD_NOW), nullptr) << dlerror();
    }
  }
};

template <class Action>
std::string refusal_of(const Action& action, Failure wanted) {
  try {
    action();
  } catch (const Exception& error) {
    EXPECT_EQ(error.failure(), wanted) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ConfigTest, TheCpuIsAlwaysThere) {
  const auto physical = config::list_physical_devices();
  ASSERT_FALSE(physical.empty());
  EXPECT_EQ(physical[0].name, "cpu");
  EXPECT_EQ(physical[0].kind, "cpu");
  EXPECT_GT(physical[0].total_bytes, 0);
  EXPECT_GT(physical[0].free_bytes, 0);
  const auto logical = config::list_logical_devices("cpu");
  ASSERT_EQ(logical.size(), 1u);
  EXPECT_GT(logical[0].limit_bytes, 0);
  EXPECT_TRUE(logical[0].memory_growth);
  EXPECT_EQ(config::list_logical_devices("cuda").empty(),
            !config::missing_cuda().empty());
  refusal_of([] { config::list_physical_devices("tpu"); }, Failure::bad_input);
}

TEST_F(ConfigTest, ALimitIsACap) {
  config::set_memory_limit("cpu", "300MiB");
  const auto logical = config::list_logical_devices("cpu");
  EXPECT_EQ(logical[0].limit_bytes, 300 * kMiB);
  EXPECT_EQ(logical[0].limit_source, "pl::config limit");
  Session below({.host = "200MiB", .threads = 2});
  EXPECT_EQ(below.host_budget_bytes(), 200 * kMiB);
  Session above({.host = "1GiB", .threads = 2});
  EXPECT_EQ(above.host_budget_bytes(), 300 * kMiB);
  Session none({.threads = 2});
  EXPECT_EQ(none.host_budget_bytes(), 300 * kMiB);
  Sequential model{Dense(1)};
  model.compile(above);
  const std::string json = model.plan(data::random(64, {3})).json();
  EXPECT_TRUE(has(json, "pl::config limit (below --host-memory 1GiB)")) << json;
}

TEST_F(ConfigTest, WithoutGrowthTheHostsBudgetIsTaken) {
  config::set_memory_growth("cpu", false);
  Session session({.host = "256MiB", .threads = 2});
  Sequential model{Dense(4, relu), Dense(1)};
  model.compile(session);
  const auto set = data::random(64, {3}).batch(32);
  for (int i = 0; i < 2; ++i) {
    const Plan plan = model.plan(set);
    EXPECT_TRUE(plan.fits()) << plan.summary();
    EXPECT_LE(plan.host_peak_bytes(), 256 * kMiB);
    EXPECT_GT(plan.host_peak_bytes(), 256 * kMiB - 4096);
    const FitHistory history = model.fit(set);
    EXPECT_EQ(history.forecast_host_bytes, history.measured_host_bytes);
    EXPECT_GT(history.measured_host_bytes, 64 * kMiB);
    // Between jobs there are the weights alone.
    EXPECT_LE(session.host_held_bytes(), 4096) << session.explain();
  }
}

TEST_F(ConfigTest, AfterTheFirstSessionNothingIsSet) {
  config::set_memory_growth("cpu", true);
  const Session session({.host = "1GiB", .threads = 2});
  for (const std::string& text :
       {refusal_of([] { config::set_memory_limit("cpu", "1GiB"); },
                   Failure::bad_input),
        refusal_of([] { config::set_memory_growth("cpu", false); },
                   Failure::bad_input)}) {
    EXPECT_TRUE(has(text, "before the first session")) << text;
    EXPECT_TRUE(has(text, "set_memory_")) << text;
    EXPECT_TRUE(has(text, "(\"cpu\", ")) << text;
  }
  EXPECT_TRUE(config::get_memory_growth("cpu"));
}

TEST_F(ConfigTest, ASessionThatDoesNotOpenFixesNothing) {
  refusal_of([] { Session({.device = "tpu"}); }, Failure::bad_input);
  config::set_memory_limit("cpu", "1GiB");
}

TEST_F(ConfigTest, WrongNamesAndSizesAreNamed) {
  const auto wrong = [](const std::string& device, const std::string& size,
                        const std::string& named) {
    const std::string text = refusal_of(
        [&] { config::set_memory_limit(device, size); }, Failure::bad_input);
    EXPECT_TRUE(has(text, named)) << text;
  };
  wrong("tpu", "1GiB", "tpu");
  wrong("gpu:0", "1GiB", "gpu:0");
  wrong("cpu", "12", "12");
  wrong("cpu", "-1GiB", "-1GiB");
  const std::string text = refusal_of(
      [] { config::set_memory_growth("cuda:99", false); }, Failure::device);
  EXPECT_TRUE(has(text, "cuda:99")) << text;
  refusal_of([] { config::get_memory_growth("tpu"); }, Failure::bad_input);
}

TEST_F(ConfigTest, GpusAreListedWithTheirLimits) {
  plug_in_gpus();
  const auto physical = config::list_physical_devices("cuda");
  ASSERT_EQ(physical.size(), 2u);
  EXPECT_EQ(physical[1].name, "cuda:1");
  EXPECT_EQ(physical[1].model, "NVIDIA Fake 1");
  EXPECT_EQ(physical[1].total_bytes, 16 * kGiB);
  config::set_memory_limit("cuda:0", "25%");
  config::set_memory_growth("cuda:1", false);
  if (!has_cuda_module()) {
    EXPECT_TRUE(config::list_logical_devices("cuda").empty());
    EXPECT_TRUE(has(config::missing_cuda(), "build"));
    return;
  }
  EXPECT_EQ(config::missing_cuda(), "");
  const auto logical = config::list_logical_devices("cuda");
  EXPECT_EQ(logical[0].limit_bytes, 2 * kGiB);
  EXPECT_EQ(logical[0].limit_source, "pl::config limit");
  EXPECT_TRUE(logical[0].memory_growth);
  EXPECT_EQ(logical[1].limit_bytes, 16 * kGiB - 600 * kMiB);
  EXPECT_EQ(logical[1].limit_source, "free device memory");
  EXPECT_FALSE(logical[1].memory_growth);

  const Session large({.device = "cuda:0", .device_memory = "4GiB"});
  EXPECT_EQ(large.device_budget_bytes(), 2 * kGiB);
  const Session small({.device = "cuda:0", .device_memory = "1GiB"});
  EXPECT_EQ(small.device_budget_bytes(), kGiB);
  Session full({.host = "4GiB", .device = "cuda:1", .device_memory = "3GiB"});
  Sequential model{Dense(4, relu), Dense(1)};
  model.compile(full);
  const Plan plan = model.plan(data::random(64, {3}).batch(32));
  EXPECT_TRUE(plan.fits()) << plan.summary();
  EXPECT_LE(plan.device_peak_bytes(), 3 * kGiB);
  EXPECT_GT(plan.device_peak_bytes(), 3 * kGiB - 2 * kMiB);
  EXPECT_LT(plan.host_peak_bytes(), kGiB);
  // A profile is of no device of this process.
  const Session planned({.device_profile = "t4"});
  EXPECT_EQ(planned.device_budget_bytes(), 15360 * kMiB);
}

}  // namespace
}  // namespace plimsoll::train::testing
