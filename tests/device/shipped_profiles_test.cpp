#include "device/shipped_profiles.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace plimsoll {
namespace {

TEST(ShippedProfiles, AreWholeAndMarkedAsEstimates) {
  for (const char* name : {"h200", "a100-80", "l4", "t4", "rtx4090"}) {
    SCOPED_TRACE(name);
    const auto profile = shipped_profile(name);
    ASSERT_TRUE(profile.ok());
    EXPECT_EQ(profile->kind, "cuda");
    EXPECT_EQ(profile->name.find("NVIDIA "), 0u);
    EXPECT_EQ(profile->instruction_set.find("sm_"), 0u);
    EXPECT_FALSE(profile->measured);
    EXPECT_EQ(profile->alignment_bytes, 256);
    EXPECT_EQ(profile->granularity_bytes, 2 * kMiB);
    EXPECT_GT(profile->total_memory_bytes, 14 * kGiB);
    EXPECT_GT(profile->runtime_floor_bytes, 100 * kMiB);
    EXPECT_GT(profile->host_floor_bytes, 100 * kMiB);
    for (const double rate :
         {profile->f64_flops_per_second, profile->f32_flops_per_second,
          profile->tf32_flops_per_second, profile->f16_flops_per_second,
          profile->memory_bytes_per_second,
          profile->copy_to_device_bytes_per_second,
          profile->copy_to_host_bytes_per_second, profile->launch_seconds}) {
      EXPECT_GT(rate, 0);
    }
    EXPECT_EQ(*device_profile_from_json(to_json(*profile)), *profile);
  }
}

TEST(ShippedProfiles, AnotherNameListsThem) {
  const auto profile = shipped_profile("h300");
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.error().code, ErrorCode::bad_input);
  EXPECT_EQ(profile.error().message,
            "no device profile `h300`; there are h200, a100-80, l4, t4, "
            "rtx4090");
}

}  // namespace
}  // namespace plimsoll
