#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plan/job_plan.h"
#include "plan/random_program.h"

namespace plimsoll::plan {
namespace {

using nlohmann::json;

JobPlan sample(bool on_device = false) {
  std::vector<ProgramPlan> programs;
  for (const std::uint64_t seed : {1u, 2u}) {
    auto plan = plan_program(testing::random_program(seed),
                             seed == 1 ? "train" : "evaluate");
    EXPECT_TRUE(plan);
    plan->compute_seconds = 0.1 + 0.2;  // no short decimal
    plan->numerics_key = 0xfedcba9876543210;
    programs.push_back(*std::move(plan));
  }
  JobNeeds needs;
  needs.states = {{"w", graph::Role::parameter, {DType::f32, Shape{1000}}},
                  {"m", graph::Role::optimizer, {DType::f32, Shape{1000}}}};
  needs.slot_bytes = 4096;
  needs.user_bytes = 12345;
  needs.runtime_floor_bytes = 20'000'000;
  if (on_device) needs.device.emplace().input_slot_bytes = 4096;
  auto plan = lay_out(needs, std::move(programs), "oneDNN 3.2 \"avx512\" \n é");
  EXPECT_TRUE(plan);
  return *std::move(plan);
}

std::string verdict(const json& file) {
  const auto plan = job_plan_from_json(file.dump());
  if (plan) return "ok";
  EXPECT_EQ(plan.error().code, ErrorCode::bad_input);
  return plan.error().message;
}

TEST(JobPlanJson, RoundTrip) {
  const JobPlan plan = sample();
  const auto read = job_plan_from_json(to_json(plan));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, plan);
  EXPECT_EQ(to_json(*read), to_json(plan));
  EXPECT_EQ(*job_plan_from_json(to_json(JobPlan())), JobPlan());
}

TEST(JobPlanJson, TextThatIsNotJson) {
  for (const char* text : {"", "{", "[1,2", "nonsense", "{\"a\":}"}) {
    const auto plan = job_plan_from_json(text);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().message, "plan file: not valid JSON");
  }
  EXPECT_EQ(verdict(json::array()), "plan file: must be an object");
  EXPECT_FALSE(job_plan_from_json(std::string(1'000'000, '[')));
  // Bytes that are no text do not stop writing.
  JobPlan plan;
  plan.fingerprint = "\xff";
  EXPECT_TRUE(job_plan_from_json(to_json(plan)));
}

TEST(JobPlanJson, MissingAndUnknownKeys) {
  const json good = json::parse(to_json(sample()));
  for (const char* where : {"", "/programs/0", "/programs/1/at_peak", "/arena",
                            "/host", "/host/accounts"}) {
    const json::json_pointer path{std::string(where)};
    for (const auto& [key, unused] : good[path].items()) {
      json file = good;
      file[path].erase(key);
      EXPECT_NE(verdict(file).find("missing key \"" + key + "\""),
                std::string::npos)
          << verdict(file);
    }
    json file = good;
    file[path]["surprise"] = 1;
    EXPECT_NE(verdict(file).find("unknown key \"surprise\""),
              std::string::npos);
  }
  json file = good;
  file["programs"][1].erase("order");
  EXPECT_EQ(verdict(file), "programs[1]: missing key \"order\"");
}

TEST(JobPlanJson, WrongTypesAndRangesAreNamed) {
  const json good = json::parse(to_json(sample()));
  const auto with = [&](const char* where, json value) {
    json file = good;
    file[json::json_pointer(where)] = std::move(value);
    return verdict(file);
  };
  EXPECT_EQ(with("/format", "plimsoll-plan-0"),
            "format: must be \"plimsoll-plan-2\"");
  EXPECT_EQ(with("/programs", 3), "programs: must be an array");
  EXPECT_EQ(with("/fingerprint", 3), "fingerprint: must be a string");
  EXPECT_EQ(with("/programs/0/name", nullptr),
            "programs[0].name: must be a string");
  EXPECT_EQ(with("/programs/0/batch", 1.5),
            "programs[0].batch: must be an integer");
  EXPECT_EQ(with("/programs/0/batch", true),
            "programs[0].batch: must be an integer");
  EXPECT_EQ(with("/programs/0/batch", -1),
            "programs[0].batch: must be from 0 to 9223372036854775807, not -1");
  EXPECT_EQ(with("/programs/0/batch", 0x8000000000000000),
            "programs[0].batch: must be from 0 to 9223372036854775807, not "
            "9223372036854775808");
  EXPECT_EQ(with("/programs/0/order/1", 0),
            "programs[0].order[1]: appears twice");
  EXPECT_NE(with("/programs/0/order/0", 100000)
                .find("programs[0].order[0]: must be from 0 to"),
            std::string::npos);
  EXPECT_NE(with("/programs/0/order/0", -1)
                .find("programs[0].order[0]: must be from 0 to"),
            std::string::npos);
  EXPECT_EQ(with("/programs/0/buffer_offsets/2", "x"),
            "programs[0].buffer_offsets[2]: must be an integer");
  EXPECT_NE(with("/programs/0/buffer_offsets/2", -2)
                .find("programs[0].buffer_offsets[2]: must be from -1 to"),
            std::string::npos);
  EXPECT_EQ(with("/programs/0/buffer_offsets/2", std::int64_t{1} << 62),
            "programs[0].height_bytes: an offset lies above it");
  EXPECT_EQ(with("/programs/0/scratch_offsets", json::array()),
            "programs[0].scratch_offsets: must have one entry an instruction");
  EXPECT_NE(with("/programs/0/lower_bound_bytes", std::int64_t{1} << 62)
                .find("programs[0].lower_bound_bytes: must be from 0 to"),
            std::string::npos);
  EXPECT_EQ(with("/programs/0/at_peak/scratch", 1),
            "programs[0].at_peak: must add up to lower_bound_bytes");
  EXPECT_EQ(with("/programs/0/compute_seconds", -1),
            "programs[0].compute_seconds: must be a number, finite and not "
            "negative");
  EXPECT_EQ(with("/programs/0/compute_seconds", "1"),
            "programs[0].compute_seconds: must be a number, finite and not "
            "negative");
  for (const char* key : {"", "123", "00000000000000000", "zzzzzzzzzzzzzzzz",
                          "-000000000000001"}) {
    EXPECT_EQ(with("/programs/0/numerics_key", key),
              "programs[0].numerics_key: must be 16 hexadecimal digits");
  }
  EXPECT_NE(with("/arena/transient_offset", std::int64_t{1} << 62)
                .find("arena.transient_offset: must be from 0 to"),
            std::string::npos);
  EXPECT_EQ(with("/arena/state_offsets/0", std::int64_t{1} << 60),
            "arena.state_offsets: a state lies above the staging slots");
  EXPECT_EQ(with("/arena/transient_offset", good["arena"]["bytes"]),
            "arena: is too small for program train");
  EXPECT_EQ(with("/host/pool_bytes", 0),
            "host: pool_bytes is less than the arena");
  EXPECT_EQ(with("/host/accounts/cache", 1),
            "host.accounts: must add up to peak_bytes");
  EXPECT_EQ(with("/host/accounts/user", 0),
            "host.accounts: must add up to peak_bytes");
  EXPECT_NE(with("/host/accounts/user", -1)
                .find("host.accounts.user: must be from 0 to"),
            std::string::npos);
}

TEST(JobPlanJson, DamagedFilesNeverDoMoreThanFail) {
  const std::string good = to_json(sample());
  testing::Random random(17);
  std::printf("seed 17\n");
  const std::string_view digits = "0123456789-{}[]\",:eE.tn";
  int refused = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string text = good;
    const std::int64_t changes = random.between(1, 3);
    for (std::int64_t i = 0; i < changes; ++i) {
      const auto at = static_cast<std::size_t>(
          random.between(0, static_cast<std::int64_t>(text.size()) - 1));
      const char other = digits[static_cast<std::size_t>(
          random.between(0, static_cast<std::int64_t>(digits.size()) - 1))];
      switch (random.between(0, 3)) {
        case 0:
          text[at] = other;
          break;
        case 1:
          text.erase(at, static_cast<std::size_t>(random.between(1, 40)));
          break;
        case 2:
          text.insert(at, 1, other);
          break;
        default:
          text[at] = static_cast<char>(random.between(-128, 127));
      }
      if (text.empty()) break;
    }
    const auto plan = job_plan_from_json(text);
    if (!plan) {
      ++refused;
      EXPECT_EQ(plan.error().code, ErrorCode::bad_input);
      continue;
    }
    // What is accepted is consistent enough to be written again.
    EXPECT_EQ(*job_plan_from_json(to_json(*plan)), *plan);
    EXPECT_EQ(total(plan->host.accounts), plan->host.peak_bytes);
  }
  EXPECT_GT(refused, 1000);
}

TEST(JobPlanJson, OnADeviceBothSpacesComeBack) {
  const JobPlan plan = sample(true);
  const auto read = job_plan_from_json(to_json(plan));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, plan);
  ASSERT_TRUE(read->device);
  EXPECT_GT(read->host_arena.bytes, 0);
  // Without one there is no word of it.
  const json without = json::parse(to_json(sample()));
  EXPECT_FALSE(without.contains("device"));
  EXPECT_FALSE(without.contains("host_arena"));
}

TEST(JobPlanJson, TheDevicesPartsAreChecked) {
  const json good = json::parse(to_json(sample(true)));
  const auto said = [&](const char* where, const json& value) {
    json file = good;
    file[json::json_pointer(where)] = value;
    return verdict(file);
  };
  EXPECT_EQ(verdict(good), "ok");
  json file = good;
  file.erase("host_arena");
  EXPECT_EQ(verdict(file), "plan file: missing key \"host_arena\"");
  file = good;
  file.erase("device");
  EXPECT_EQ(verdict(file), "plan file: unknown key \"host_arena\"");
  EXPECT_EQ(said("/device", nullptr), "device: must be an object");
  EXPECT_NE(said("/device/pool_bytes", 1), "ok");
  EXPECT_NE(said("/device/peak_bytes", 1), "ok");
  EXPECT_NE(said("/host_arena/bytes", -1), "ok");
  EXPECT_NE(said("/host_arena/bytes", 1 << 30), "ok");
  EXPECT_NE(said("/host_arena/staging_offset", 1 << 30), "ok");
  EXPECT_NE(said("/host_arena/values_offset", 1 << 30), "ok");
}

}  // namespace
}  // namespace plimsoll::plan
