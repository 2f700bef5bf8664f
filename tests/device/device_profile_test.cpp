#include "device/device_profile.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace plimsoll {
namespace {

DeviceProfile sample() {
  DeviceProfile profile;
  profile.name = "Processor \"X\" @ 2.80GHz";
  profile.kind = "cpu";
  profile.instruction_set = "avx512";
  profile.threads = 2;
  profile.library_versions = {{"onednn", "3.2.1"}, {"onetbb", "2021.13"}};
  profile.f32_flops_per_second = 1.5e11;
  profile.f64_flops_per_second = 7.3e10;
  profile.bf16_flops_per_second = 2.1e12;
  profile.tf32_flops_per_second = 3.5e14;
  profile.f16_flops_per_second = 9.9e14;
  profile.memory_bytes_per_second = 1.1e10;
  profile.copy_to_device_bytes_per_second = 5e9;
  profile.copy_to_host_bytes_per_second = 0.1 + 0.2;
  profile.launch_seconds = 3e-6;
  profile.total_memory_bytes = std::int64_t{1} << 37;
  profile.alignment_bytes = 128;
  profile.granularity_bytes = 2 << 20;
  profile.runtime_floor_bytes = 44040193;
  profile.host_floor_bytes = 70000;
  profile.host_product_bytes = 71000;
  profile.host_convolution_bytes = 72000;
  profile.device_convolution_bytes = 73000;
  profile.instruction_bytes = 70001;
  profile.device_instruction_bytes = 70004;
  profile.planning_floor_bytes = 70002;
  profile.planning_value_bytes = 70003;
  profile.allowance_bytes = 8 << 20;
  profile.measured = true;
  profile.note = "busy";
  return profile;
}

TEST(DeviceProfileTest, ComesBackFromJsonExactly) {
  const auto back = device_profile_from_json(to_json(sample()));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, sample());
  EXPECT_EQ(*device_profile_from_json(to_json(DeviceProfile{})),
            DeviceProfile{});
}

// Every key, left out or of a wrong kind, is an error that names it.
TEST(DeviceProfileTest, EveryKeyIsChecked) {
  const auto good = nlohmann::json::parse(to_json(sample()));
  ASSERT_EQ(good.size(), 30u);
  for (const auto& [key, value] : good.items()) {
    auto without = good;
    without.erase(key);
    auto wrong = good;
    wrong[key] = nlohmann::json::array();
    auto negative = good;
    if (value.is_number()) negative[key] = -1;
    for (const auto& json : {without, wrong, negative}) {
      if (json == good) continue;
      const auto failed = device_profile_from_json(json.dump());
      ASSERT_FALSE(failed.ok()) << json.dump();
      EXPECT_EQ(failed.error().code, ErrorCode::bad_input);
      EXPECT_NE(failed.error().message.find("\"" + key + "\""),
                std::string::npos)
          << failed.error().message;
    }
  }
}

TEST(DeviceProfileTest, ValuesOutOfRangeAreErrors) {
  const auto good = nlohmann::json::parse(to_json(sample()));
  for (const auto& [key, value] : std::map<std::string, nlohmann::json>{
           {"threads", 0},
           {"alignment_bytes", 48},
           {"granularity_bytes", 0},
           {"runtime_floor_bytes", 9223372036854775808u},
           {"instruction_bytes", 1.5},
           {"format", 1},
           {"surprise", 1}}) {
    auto json = good;
    json[key] = value;
    EXPECT_FALSE(device_profile_from_json(json.dump()).ok()) << key;
  }
  auto json = good;
  json["library_versions"]["x"] = 3;
  EXPECT_FALSE(device_profile_from_json(json.dump()).ok());
}

TEST(DeviceProfileTest, WhatIsNoJsonIsAnError) {
  for (const char* text : {"", "{", "[]", "null", "3"}) {
    EXPECT_FALSE(device_profile_from_json(text).ok()) << text;
  }
}

}  // namespace
}  // namespace plimsoll
