// Properties that hold for every program.
#include "plan/random_program.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "plan/program_plan.h"
#include "plan/validator.h"

namespace plimsoll::plan {
namespace {

TEST(RandomPrograms, PlansAreValidLowAndTheSameEachTime) {
  const char* said = std::getenv("PLIMSOLL_TEST_SEED");
  const std::uint64_t seed = said ? std::strtoull(said, nullptr, 10) : 20240;
  std::printf("seed %llu (PLIMSOLL_TEST_SEED)\n",
              static_cast<unsigned long long>(seed));
  int at_the_bound = 0;
  double worst = 1;
  for (std::uint64_t i = 0; i < 300; ++i) {
    SCOPED_TRACE("program seed " + std::to_string(seed + i));
    const graph::LoweredGraph program = testing::random_program(seed + i);
    const auto plan = plan_program(program, "train");
    ASSERT_TRUE(plan) << plan.error().message;
    const Status valid = validate(program, *plan);
    ASSERT_TRUE(valid) << valid.error().message;
    const auto again = plan_program(program, "train");
    ASSERT_TRUE(again);
    EXPECT_EQ(*plan, *again);
    const double ratio = static_cast<double>(plan->home.height_bytes) /
                         static_cast<double>(plan->home.lower_bound_bytes);
    EXPECT_LE(ratio, 1.02) << plan->home.height_bytes << " over "
                           << plan->home.lower_bound_bytes;
    at_the_bound += plan->home.height_bytes == plan->home.lower_bound_bytes;
    worst = std::max(worst, ratio);
  }
  std::printf("at the lower bound: %d of 300; worst height / bound: %.4f\n",
              at_the_bound, worst);
}

}  // namespace
}  // namespace plimsoll::plan
