// Jobs planned for a device with memory of its own, without having one.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "device/shipped_profiles.h"
#include "train/calibration.h"
#include "train/exhaustion.h"
#include "train/plan_report_json.h"
#include "train/remedies.h"
#include "train/report.h"

namespace plimsoll::train {
namespace {

JobSpec sample_job() {
  JobSpec job;
  job.model.input = {100};
  LayerSpec layer;
  layer.type = "dense";
  layer.units = 300;
  layer.activation = "relu";
  job.model.layers.push_back(layer);
  layer.units = 1;
  layer.activation = "sigmoid";
  job.model.layers.push_back(layer);
  job.data.source.name = "random";
  job.data.source.options = {{"examples", std::int64_t{1000}},
                             {"features", std::vector<std::int64_t>{100}},
                             {"labels", std::string("binary")}};
  job.data.pipeline = data::default_pipeline();
  job.train.batch = 64;
  job.train.loss = "binary_crossentropy";
  return job;
}

class DevicePlan : public ::testing::Test {
 protected:
  PlannedJob planned(const JobSpec& job) {
    auto made = plan_programs(job, *open_data(job, 2), machine_);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return *std::move(made);
  }
  PlanReport report(const JobSpec& job, std::int64_t host_bytes,
                    std::int64_t device_bytes) {
    const JobData data = *open_data(job, 2);
    PlanReport made = report_on(job, planned(job), {host_bytes, "host text"},
                                Budget{device_bytes, "device text"});
    const Status found = find_exhaustion(job, data, machine_, made);
    EXPECT_TRUE(found.ok());
    return made;
  }
  std::vector<Remedy> remedies(const JobSpec& job, const SpaceLimit& host,
                               const SpaceLimit& device) {
    auto found = find_remedies(job, weight_of(job, planned(job)),
                               {host, device}, machine_);
    EXPECT_TRUE(found.ok());
    return *std::move(found);
  }

  DeviceProfile device_ = *shipped_profile("t4");
  Machine machine_{*cpu_profile(2, ""), device_, ops::CudaSettings{}};
};

TEST_F(DevicePlan, LayersOnTheCpuTakeTheirMemoryWithThem) {
  JobSpec job = sample_job();
  const PlannedJob whole = planned(job);
  job.model.layers[0].device = "cpu";
  const PlannedJob mixed = planned(job);
  const auto on = [](const plan::SpaceForecast& space, Purpose purpose) {
    return space.accounts[static_cast<std::size_t>(purpose)];
  };
  for (const Purpose purpose : {Purpose::parameters, Purpose::optimizer}) {
    EXPECT_GT(on(mixed.plan.host, purpose), 120'000) << name_of(purpose);
    EXPECT_LT(on(*mixed.plan.device, purpose),
              on(*whole.plan.device, purpose) - 120'000)
        << name_of(purpose);
  }
  ASSERT_EQ(mixed.graphs.notes.size(), 1);
  // One layer's results and their gradients: 64 x 300 floats.
  EXPECT_EQ(mixed.graphs.notes[0],
            "Layers run on the CPU beside cuda:0: in a step 75.0 KiB go to the "
            "device and 75.0 KiB come back, beside the input.");
  const auto read = plan::job_plan_from_json(plan::to_json(mixed.plan));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, mixed.plan);

  machine_.set_pins_memory(false);
  const auto refused = plan_programs(job, *open_data(job, 2), machine_);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("memory.pinned"), std::string::npos);
}

TEST_F(DevicePlan, StatesInputsAndBuffersLieOnTheDevice) {
  const JobSpec job = sample_job();
  const PlannedJob made = planned(job);
  ASSERT_TRUE(made.plan.device);
  EXPECT_FALSE(made.exact);
  const auto on = [](const plan::SpaceForecast& space, Purpose purpose) {
    return space.accounts[static_cast<std::size_t>(purpose)];
  };
  const plan::SpaceForecast& device = *made.plan.device;
  const plan::SpaceForecast& host = made.plan.host;
  for (const Purpose purpose : {Purpose::parameters, Purpose::gradients,
                                Purpose::optimizer, Purpose::scratch}) {
    EXPECT_GT(on(device, purpose), 0) << name_of(purpose);
    EXPECT_EQ(on(host, purpose), 0) << name_of(purpose);
  }
  EXPECT_EQ(on(device, Purpose::pipeline), 0);
  EXPECT_GT(on(host, Purpose::pipeline), 0);
  EXPECT_EQ(plan::total(device.accounts), device.peak_bytes);
  EXPECT_EQ(plan::total(host.accounts), host.peak_bytes);
  EXPECT_EQ(device.pool_bytes, made.plan.arena.bytes);
  EXPECT_EQ(device.pool_bytes % device_.granularity_bytes, 0);

  // A slot is 64 rows of 100 f32 and 64 labels, in whole 256 bytes.
  const data::FeederLayout& layout = made.feed(Stage::train).layout;
  EXPECT_EQ(layout.slot_bytes, 64 * 400 + 256);
  EXPECT_EQ(made.needs.device->input_slots, layout.slots);
  EXPECT_EQ(made.needs.device->input_slot_bytes, layout.slot_bytes);
  EXPECT_GE(layout.slots, 2);
  EXPECT_EQ(on(device, Purpose::staging), layout.slots * layout.slot_bytes);
  // What comes back has room of its own.
  EXPECT_EQ(made.plan.host_arena.staging_offset, plan::kValuesBytes);
  EXPECT_GE(on(host, Purpose::staging),
            plan::kValuesBytes + layout.slots * layout.slot_bytes);
  for (const plan::ProgramPlan& program : made.plan.programs) {
    for (const std::int64_t offset : program.buffer_offsets) {
      EXPECT_TRUE(offset == -1 || offset % 256 == 0);
    }
  }
}

TEST_F(DevicePlan, RuntimesAreEachSpacesOwn) {
  const PlannedJob made = planned(sample_job());
  std::int64_t instructions = 0;
  for (const auto& program : made.programs) {
    instructions +=
        static_cast<std::int64_t>(program.lowered.instructions.size());
  }
  EXPECT_EQ(made.needs.kernel_bytes, 0);
  EXPECT_EQ(made.needs.device->runtime_floor_bytes,
            device_.runtime_floor_bytes +
                instructions * device_.device_instruction_bytes);
  EXPECT_GT(device_.device_instruction_bytes, 0);
  EXPECT_GE(made.needs.runtime_floor_bytes,
            device_.host_floor_bytes +
                instructions * machine_.profile().instruction_bytes);
}

TEST_F(DevicePlan, CopiesAreTimed) {
  JobSpec job = sample_job();
  const PlannedJob ahead = planned(job);
  EXPECT_DOUBLE_EQ(
      ahead.copy_seconds,
      static_cast<double>(ahead.feed(Stage::train).layout.slot_bytes) /
          device_.copy_to_device_bytes_per_second);
  EXPECT_EQ(ahead.step_seconds,
            std::max({ahead.copy_seconds, ahead.compute_seconds,
                      ahead.input_seconds}));
  job.data.pipeline.pop_back();
  const PlannedJob after = planned(job);
  EXPECT_EQ(after.needs.device->input_slots, 1);
  EXPECT_DOUBLE_EQ(
      after.step_seconds,
      after.copy_seconds + after.compute_seconds + after.input_seconds);
}

// What is in memory is staged all the same.
TEST_F(DevicePlan, NothingIsBorrowed) {
  JobSpec job = sample_job();
  job.data.residency = "memory";
  for (auto& pipeline = job.data.pipeline; pipeline.size() > 1;) {
    pipeline.erase(pipeline.begin());
  }
  job.data.pipeline[0].name = "batch";
  Machine cpu(machine_.profile());
  const JobData data = *open_data(job, 2);
  EXPECT_TRUE(
      plan_programs(job, data, cpu)->feed(Stage::train).layout.borrows_all());
  const data::FeederLayout layout = planned(job).feed(Stage::train).layout;
  EXPECT_FALSE(layout.borrows_all());
  EXPECT_EQ(layout.borrowed, (std::vector<bool>{false, false}));
}

TEST_F(DevicePlan, TheFingerprintNamesTheDevice) {
  const std::string text = machine_.fingerprint();
  EXPECT_NE(text.find("device=cuda NVIDIA T4 sm_75"), std::string::npos)
      << text;
  EXPECT_NE(text, Machine(machine_.profile()).fingerprint());
}

TEST_F(DevicePlan, TheFirstToRunOutIsNamed) {
  const JobSpec job = sample_job();
  const PlannedJob made = planned(job);
  const std::int64_t host = made.plan.host.peak_bytes;
  const std::int64_t device = made.plan.device->peak_bytes;
  const auto first = [&](std::int64_t host_bytes, std::int64_t device_bytes) {
    return report(job, host_bytes, device_bytes).first_to_exhaust;
  };
  // Within the budgets the smallest batch decides.
  EXPECT_EQ(first(host + 100 * kMiB, device), "device");
  EXPECT_EQ(first(host, device + 1000 * kMiB), "host");
  EXPECT_EQ(first(host + 100 * kGiB, device + 100 * kGiB), std::nullopt);
  // Past them the largest relative excess.
  EXPECT_EQ(first(host / 2, device / 3), "device");
  EXPECT_EQ(first(host / 3, device / 2), "host");
  EXPECT_EQ(first(host / 3, device), "host");
  EXPECT_EQ(first(host, device - 1), "device");
  EXPECT_EQ(first(0, 0), "host") << "more bytes over none";
}

TEST_F(DevicePlan, TheBatchThatExhaustsIsSharp) {
  JobSpec job = sample_job();
  const PlannedJob made = planned(job);
  const std::int64_t budget = made.plan.device->peak_bytes + 10 * kMiB;
  const PlanReport found =
      report(job, made.plan.host.peak_bytes + kGiB, budget);
  ASSERT_TRUE(found.device_exhausts_at);
  job.train.batch = *found.device_exhausts_at;
  EXPECT_GT(planned(job).plan.device->peak_bytes, budget);
  job.train.batch -= 1;
  EXPECT_LE(planned(job).plan.device->peak_bytes, budget);
}

TEST_F(DevicePlan, RefusalsNameTheSpace) {
  const JobSpec job = sample_job();
  const PlannedJob made = planned(job);
  const std::int64_t host = made.plan.host.peak_bytes;
  const std::int64_t device = made.plan.device->peak_bytes;
  const auto has = [&](std::int64_t host_bytes, std::int64_t device_bytes,
                       const std::string& part) {
    const PlanReport made_report = report(job, host_bytes, device_bytes);
    EXPECT_FALSE(made_report.fits);
    EXPECT_NE(made_report.refusal.find(part), std::string::npos)
        << made_report.refusal;
    return made_report.refusal;
  };
  const std::string only = has(host, device - 1, "of device memory");
  EXPECT_EQ(only.find("host memory"), std::string::npos) << only;
  has(host, 10 * kMiB,
      "the device budget of 10.0 MiB (device text) is below what the driver "
      "takes for the process");
  has(host - 1, device - 1, "of host memory");
  has(host - 1, device - 1, "; also, the job needs");
}

TEST_F(DevicePlan, JsonHasBothSpaces) {
  const JobSpec job = sample_job();
  const PlanReport made = report(job, 10 * kGiB, 10 * kGiB);
  EXPECT_TRUE(made.fits);
  const auto json = nlohmann::json::parse(to_json(made, true));
  const auto& device = json.at("device");
  EXPECT_EQ(device.at("budget"), 10 * kGiB);
  EXPECT_EQ(device.at("budget_source"), "device text");
  std::int64_t sum = 0;
  for (const auto& [purpose, bytes] : device.at("accounts").items()) {
    sum += bytes.get<std::int64_t>();
  }
  EXPECT_EQ(sum, device.at("peak"));
  EXPECT_EQ(device.at("accounts").size(), 10u);
  EXPECT_EQ(json.at("exact"), false);
  EXPECT_GT(json.at("step_seconds").at("copy"), 0);
  const auto plan = plan::job_plan_from_json(json.at("plan").dump());
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(*plan, made.plan);
}

TEST_F(DevicePlan, EveryRemedyMakesBothFit) {
  JobSpec job = sample_job();
  job.train.batch = 50000;
  job.data.residency = "memory";
  job.data.source.options["examples"] = std::int64_t{60000};
  const PlannedJob made = planned(job);
  const std::int64_t host = made.plan.host.peak_bytes;
  const std::int64_t device = made.plan.device->peak_bytes;
  const std::int64_t tight_host = host - 10 * kMiB;
  const std::int64_t tight_device = device - 10 * kMiB;
  const auto found =
      remedies(job, {tight_host, 2 * host}, {tight_device, 2 * device});
  ASSERT_GE(found.size(), 2u);
  // Streaming alone would do for the host, not for the device.
  EXPECT_NE(found[0].apply, "--set data.residency=stream");
  EXPECT_TRUE(found[0].apply.find("--batch") != std::string::npos ||
              found[0].apply.find("--precision bf16") != std::string::npos)
      << found[0].apply;
  EXPECT_GE(found[0].device_bytes_saved, 10 * kMiB);
  EXPECT_GE(found[0].host_bytes_saved, 10 * kMiB);
  EXPECT_EQ(found.back().apply,
            "--host-memory " + std::to_string(round_up(host, kMiB) / kMiB) +
                "MiB --device-memory " +
                std::to_string(round_up(device, kMiB) / kMiB) + "MiB");
}

TEST_F(DevicePlan, ALargerDeviceBudgetOnlyWhereTheDeviceHasIt) {
  const JobSpec job = sample_job();
  const PlannedJob made = planned(job);
  const std::int64_t host = made.plan.host.peak_bytes;
  const std::int64_t device = made.plan.device->peak_bytes;
  // Below the driver's own: nothing but more helps.
  auto found = remedies(job, {host, 2 * host}, {10 * kMiB, 2 * device});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].apply, "--device-memory " +
                                std::to_string(round_up(device, kMiB) / kMiB) +
                                "MiB");
  EXPECT_EQ(found[0].change.find("allow "), 0u);
  EXPECT_TRUE(remedies(job, {host, 2 * host}, {10 * kMiB, 10 * kMiB}).empty());
}

// The host cannot do without more, and the device has no more.
TEST_F(DevicePlan, ALargerHostBudgetAndASmallerBatch) {
  JobSpec job = sample_job();
  job.train.batch = 50000;
  const PlannedJob made = planned(job);
  const std::int64_t device = made.plan.device->peak_bytes - 10 * kMiB;
  const auto found = remedies(job, {10 * kMiB, 100 * kGiB}, {device, device});
  ASSERT_FALSE(found.empty());
  EXPECT_NE(found[0].apply.find("--host-memory"), std::string::npos);
  for (const Remedy& remedy : found) {
    EXPECT_EQ(remedy.apply.find("--device-memory"), std::string::npos);
  }
}

}  // namespace
}  // namespace plimsoll::train
