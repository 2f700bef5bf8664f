#include "plan/job_plan.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/units.h"

namespace plimsoll::plan {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

ProgramPlan program(std::string name, std::int64_t height,
                    TransientBytes at_peak) {
  ProgramPlan made;
  made.name = std::move(name);
  made.home.height_bytes = height;
  made.home.at_peak = at_peak;
  made.home.lower_bound_bytes = at_peak.total();
  return made;
}

StateNeed state(std::string name, graph::Role role, std::int64_t elements) {
  return {std::move(name), role, {DType::f32, Shape{elements}}};
}

JobNeeds needs() {
  JobNeeds made;
  made.states = {state("m", graph::Role::optimizer, 10),
                 state("w", graph::Role::parameter, 17),
                 state("step", graph::Role::counter, 1),
                 state("v", graph::Role::optimizer, 10),
                 state("mean", graph::Role::statistic, 4),
                 state("accuracy", graph::Role::metric, 1)};
  made.slot_bytes = 1000;
  made.slots = 3;
  made.pipeline_bytes = 100;
  made.user_bytes = 5000;
  made.runtime_floor_bytes = 10'000'001;
  made.kernel_bytes = 333;
  made.allowance_bytes = 77;
  return made;
}

std::int64_t account(const JobPlan& plan, Purpose purpose) {
  return plan.host.accounts[static_cast<std::size_t>(purpose)];
}

TEST(LayOut, SectionsFollowEachOther) {
  const auto plan = lay_out(needs(),
                            {program("train", 6400, {2000 * 2, 1000, 1000}),
                             program("evaluate", 640, {640, 0, 0})},
                            "here");
  ASSERT_TRUE(plan) << plan.error().message;
  // w 68 bytes, so 128; step, mean and accuracy 64 each; then m and v.
  EXPECT_EQ(plan->arena.state_offsets,
            (std::vector<std::int64_t>{320, 0, 128, 384, 192, 256}));
  EXPECT_EQ(plan->arena.staging_offset, 448);
  EXPECT_EQ(plan->arena.pipeline_offset, 448 + 3 * 1024);
  EXPECT_EQ(plan->arena.transient_offset, 448 + 3 * 1024 + 128);
  EXPECT_EQ(plan->arena.bytes, 12288);
  EXPECT_EQ(plan->programs.size(), 2u);
  EXPECT_EQ(plan->fingerprint, "here");
}

TEST(LayOut, AccountsAddUpToThePeak) {
  const auto plan = lay_out(needs(),
                            {program("evaluate", 640, {640, 0, 0}),
                             program("train", 6400, {4000, 1000, 1000})},
                            "");
  ASSERT_TRUE(plan);
  EXPECT_EQ(account(*plan, Purpose::parameters), 128 + 3 * 64);
  EXPECT_EQ(account(*plan, Purpose::optimizer), 128);
  EXPECT_EQ(account(*plan, Purpose::staging), 3 * 1024);
  EXPECT_EQ(account(*plan, Purpose::pipeline), 128);
  EXPECT_EQ(account(*plan, Purpose::activations), 4000);
  EXPECT_EQ(account(*plan, Purpose::gradients), 1000);
  // Scratch itself, 400 lost between buffers, and the end of the last page.
  const std::int64_t slack = 12288 - (448 + 3 * 1024 + 128 + 6400);
  EXPECT_EQ(account(*plan, Purpose::scratch), 1000 + 400 + slack);
  EXPECT_EQ(account(*plan, Purpose::user), 8192);
  EXPECT_EQ(account(*plan, Purpose::runtime), 10'000'001 + 333 + 77);
  EXPECT_EQ(account(*plan, Purpose::cache), 0);
  EXPECT_EQ(total(plan->host.accounts), plan->host.peak_bytes);
  EXPECT_EQ(plan->host.pool_bytes, plan->arena.bytes + 8192);
  EXPECT_EQ(plan->host.peak_bytes,
            plan->host.pool_bytes + 10'000'001 + 333 + 77);
}

TEST(LayOut, AJobWithoutAnything) {
  JobNeeds none;
  none.slots = 0;
  const auto plan = lay_out(none, {}, "");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->arena.bytes, 0);
  EXPECT_EQ(plan->host.peak_bytes, 0);
}

TEST(LayOut, OtherPageSizes) {
  JobNeeds large = needs();
  large.page_bytes = 2 * kMiB;
  const auto plan = lay_out(large, {}, "");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->arena.bytes, 2 * kMiB);
  EXPECT_EQ(plan->host.pool_bytes, 4 * kMiB);
  EXPECT_EQ(total(plan->host.accounts), plan->host.peak_bytes);
}

TEST(LayOut, AbsurdSizesAreErrors) {
  const auto said = [](auto change) {
    JobNeeds made = needs();
    std::vector<ProgramPlan> programs = {program("train", 640, {640, 0, 0})};
    change(made, programs);
    const auto plan = lay_out(made, programs, "");
    return plan ? std::string("ok") : plan.error().message;
  };
  using Programs = std::vector<ProgramPlan>;
  const std::string why = ": negative, or the job passes 2^62 bytes";
  EXPECT_EQ(said([](JobNeeds&, Programs&) {}), "ok");
  for (const std::int64_t bytes : {std::int64_t{-1}, kMost, kMost / 2 + 1}) {
    EXPECT_EQ(said([&](JobNeeds& n, Programs&) { n.slot_bytes = bytes; }),
              "staging" + why);
    EXPECT_EQ(said([&](JobNeeds& n, Programs&) { n.pipeline_bytes = bytes; }),
              "pipeline" + why);
    EXPECT_EQ(said([&](JobNeeds& n, Programs&) { n.user_bytes = bytes; }),
              "user data" + why);
    EXPECT_EQ(
        said([&](JobNeeds& n, Programs&) { n.runtime_floor_bytes = bytes; }),
        "runtime floor" + why);
    EXPECT_EQ(said([&](JobNeeds& n, Programs&) { n.kernel_bytes = bytes; }),
              "kernels" + why);
    EXPECT_EQ(said([&](JobNeeds& n, Programs&) { n.allowance_bytes = bytes; }),
              "allowance" + why);
  }
  EXPECT_EQ(said([](JobNeeds& n, Programs&) { n.slots = -1; }),
            "staging slots" + why);
  EXPECT_EQ(said([](JobNeeds& n, Programs&) {
              n.slots = std::numeric_limits<int>::max();
              n.slot_bytes = kMost / 1000;
            }),
            "staging" + why);
  EXPECT_EQ(said([](JobNeeds& n, Programs&) {
              n.states[1].type.shape = Shape{1 << 30, 1 << 30, 1 << 30};
            }),
            "state w" + why);
  EXPECT_EQ(said([](JobNeeds& n, Programs&) {
              n.states[1].type = {DType::f64, Shape{std::int64_t{1} << 61}};
            }),
            "state w" + why);
  EXPECT_EQ(said([](JobNeeds& n, Programs&) {
              n.states[1].type.shape = Shape{Dim::batch(), 4};
            }),
            "state w: its shape depends on the batch");
  EXPECT_EQ(said([](JobNeeds&, Programs& p) { p[0].home.height_bytes = -1; }),
            "program train" + why);
  EXPECT_EQ(
      said([](JobNeeds&, Programs& p) { p[0].home.height_bytes = kMost; }),
      "program train" + why);
  EXPECT_EQ(
      said([](JobNeeds&, Programs& p) { p[0].home.at_peak.scratch = 64; }),
      "program train" + why);
  EXPECT_EQ(said([](JobNeeds& n, Programs& p) {
              p[0].home.height_bytes = std::int64_t{1} << 62;
              n.user_bytes = std::int64_t{1} << 61;
            }),
            "transient buffers" + why);
  for (const std::int64_t page :
       {std::int64_t{0}, std::int64_t{-4096}, std::int64_t{4097}, kMost}) {
    EXPECT_EQ(said([&](JobNeeds& n, Programs&) { n.page_bytes = page; }),
              "page size: must be a multiple of 64 up to 1 GiB");
  }
}

JobNeeds device_needs() {
  JobNeeds made = needs();
  DeviceNeeds& device = made.device.emplace();
  device.input_slots = 2;
  device.input_slot_bytes = 1000;
  device.runtime_floor_bytes = 100'000'001;
  device.kernel_bytes = 44;
  device.allowance_bytes = 55;
  return made;
}

TEST(LayOutOnADevice, EachSpaceHasItsOwn) {
  const auto plan = lay_out(
      device_needs(), {program("train", 6400, {4000, 1000, 1000})}, "here");
  ASSERT_TRUE(plan) << plan.error().message;
  // Six states of 256 bytes each, two slots of 1024.
  EXPECT_EQ(plan->arena.state_offsets,
            (std::vector<std::int64_t>{1024, 0, 256, 1280, 512, 768}));
  EXPECT_EQ(plan->arena.staging_offset, 1536);
  EXPECT_EQ(plan->arena.pipeline_offset, 1536 + 2048);
  EXPECT_EQ(plan->arena.transient_offset, 1536 + 2048);
  EXPECT_EQ(plan->arena.bytes, 2 * kMiB);
  // Room for values, three slots of 1024, the pipeline.
  EXPECT_EQ(plan->host_arena,
            (HostLayout{std::vector<std::int64_t>(6, -1), 0, kValuesBytes,
                        kValuesBytes + 3 * 1024, kValuesBytes + 3 * 1024 + 128,
                        kValuesBytes + 4096}));
  ASSERT_TRUE(plan->device);
  const Accounts& device = plan->device->accounts;
  const auto on_device = [&](Purpose purpose) {
    return device[static_cast<std::size_t>(purpose)];
  };
  EXPECT_EQ(on_device(Purpose::parameters), 1024);
  EXPECT_EQ(on_device(Purpose::optimizer), 512);
  EXPECT_EQ(on_device(Purpose::staging), 2048);
  EXPECT_EQ(on_device(Purpose::activations), 4000);
  EXPECT_EQ(on_device(Purpose::gradients), 1000);
  EXPECT_EQ(on_device(Purpose::pipeline), 0);
  EXPECT_EQ(on_device(Purpose::user), 0);
  EXPECT_EQ(on_device(Purpose::runtime), 100'000'001 + 44 + 55);
  EXPECT_EQ(total(device), plan->device->peak_bytes);
  EXPECT_EQ(plan->device->pool_bytes, plan->arena.bytes);

  EXPECT_EQ(account(*plan, Purpose::parameters), 0);
  EXPECT_EQ(account(*plan, Purpose::activations), 0);
  EXPECT_EQ(account(*plan, Purpose::scratch), 0);
  EXPECT_EQ(account(*plan, Purpose::pipeline), 128);
  EXPECT_EQ(account(*plan, Purpose::staging), kValuesBytes + 4096 - 128);
  EXPECT_EQ(account(*plan, Purpose::user), 8192);
  EXPECT_EQ(account(*plan, Purpose::runtime), 10'000'001 + 333 + 77);
  EXPECT_EQ(total(plan->host.accounts), plan->host.peak_bytes);
  EXPECT_EQ(plan->host.pool_bytes, kValuesBytes + 4096 + 8192);
}

TEST(LayOutOnADevice, AbsurdSizesAreErrors) {
  const auto said = [](auto change) {
    JobNeeds made = device_needs();
    change(*made.device);
    const auto plan = lay_out(made, {}, "");
    return plan ? std::string("ok") : plan.error().message;
  };
  const std::string why = ": negative, or the job passes 2^62 bytes";
  EXPECT_EQ(said([](DeviceNeeds&) {}), "ok");
  EXPECT_EQ(said([](DeviceNeeds& d) { d.alignment_bytes = 100; }),
            "device alignment: must be a multiple of 64 up to 1 GiB");
  EXPECT_EQ(said([](DeviceNeeds& d) { d.granularity_bytes = 4096 + 64; }),
            "device granularity: must be a multiple of 256 up to 1 GiB");
  EXPECT_EQ(said([](DeviceNeeds& d) { d.input_slots = -1; }),
            "staging slots" + why);
  EXPECT_EQ(said([](DeviceNeeds& d) { d.input_slot_bytes = kMost; }),
            "staging" + why);
  EXPECT_EQ(said([](DeviceNeeds& d) { d.runtime_floor_bytes = -1; }),
            "runtime floor" + why);
  EXPECT_EQ(said([](DeviceNeeds& d) { d.kernel_bytes = kMost; }),
            "kernels" + why);
  EXPECT_EQ(said([](DeviceNeeds& d) { d.allowance_bytes = kMost; }),
            "allowance" + why);
}

}  // namespace
}  // namespace plimsoll::plan
