// Promise 3 on random networks: what was forecast is what is mapped, what is
// mapped is what launches use, and little of it is wasted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "runtime/checking.h"
#include "train/calibration.h"
#include "train/planned_step.h"

namespace plimsoll::train::testing {
namespace {

constexpr int kBlocks = 10;
constexpr int kNetworksPerBlock = 20;

// The first number in PLIMSOLL_SEED, or a fixed one: printed either way.
std::uint64_t base_seed() {
  const char* text = std::getenv("PLIMSOLL_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20261115;
}

class Promise : public ::testing::TestWithParam<int> {
 protected:
  void check(std::uint64_t seed, bool large) {
    const RandomNetwork network = make_random_network(seed, large);
    SCOPED_TRACE(
        fmt::format("seed {} large {}: {}", seed, large, network.description));
    const std::int64_t mapped_before = machine_.host().mapped_bytes();
    auto step = prepare_step(network, machine_);
    ASSERT_TRUE(step.ok()) << step.error().message;
    const plan::ProgramPlan& program = (*step)->plan.programs[0];

    EXPECT_EQ(machine_.host().mapped_bytes() - mapped_before,
              (*step)->plan.host.pool_bytes);
    EXPECT_LE(static_cast<double>(program.home.height_bytes),
              1.02 * static_cast<double>(program.home.lower_bound_bytes));
    EXPECT_EQ(plan::total((*step)->plan.host.accounts),
              (*step)->plan.host.peak_bytes);
    if ((*step)->arena.bytes() > 256 * kMiB) ++above_256_mib_;

    const Status ran = (*step)->program->run();
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_EQ((*step)->program->recorded_height_bytes(),
              program.home.height_bytes);
    // The distrustful run looks at every byte around every launch.
    if ((*step)->arena.bytes() < 512 * kKiB) {
      const Status checked = runtime::run_checked(*(*step)->program);
      EXPECT_TRUE(checked.ok()) << checked.error().message;
    }
    step->reset();
    EXPECT_EQ(machine_.host().mapped_bytes(), mapped_before);
    EXPECT_EQ(machine_.ledger().held_bytes(Space::host), 0);
  }

  Machine machine_{*cpu_profile(2, "")};
  int above_256_mib_ = 0;
};

TEST_P(Promise, HoldsOnRandomNetworks) {
  const std::uint64_t seed =
      base_seed() + static_cast<std::uint64_t>(GetParam()) * 1000;
  fmt::print("seeds {} to {}\n", seed, seed + kNetworksPerBlock - 1);
  machine_.threads().enter([&] {
    for (int i = 0; i < kNetworksPerBlock; ++i) {
      check(seed + static_cast<std::uint64_t>(i), i % 5 == 4);
    }
  });
  EXPECT_GE(above_256_mib_, kNetworksPerBlock / 5);
}

INSTANTIATE_TEST_SUITE_P(Blocks, Promise, ::testing::Range(0, kBlocks));

}  // namespace
}  // namespace plimsoll::train::testing
