#include "data/sets/resident_set.h"

#include <gtest/gtest.h>

#include <array>

#include "data/numbered_set.h"
#include "data/sets/random_set.h"
#include "memory/counting_source.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kCapacity = 1 << 20;

TEST(ResidentSet, HoldsTheWholeSetChargedToTheUser) {
  const NumberedSet origin(10000);  // more than one slice of rows
  CountingSource memory(kCapacity);
  Ledger ledger;
  const std::int64_t needed =
      ResidentSet::bytes_needed(origin, memory.granularity_bytes());
  {
    const auto source = ResidentSet::load(origin, memory, ledger);
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ(memory.mapped_bytes(), needed);
    EXPECT_EQ(ledger.snapshot(),
              (std::vector<Holding>{
                  {"data set in memory", Purpose::user, Space::host, needed}}));
    EXPECT_EQ(origin.reads, 3);
    const auto* x = reinterpret_cast<const float*>((*source)->borrow(0, 0));
    const auto* y =
        reinterpret_cast<const std::int32_t*>((*source)->borrow(1, 0));
    ASSERT_NE(x, nullptr);
    ASSERT_NE(y, nullptr);
    for (int i = 0; i < 10000; ++i) {
      ASSERT_EQ(x[3 * i + 1], static_cast<float>(i * 10 + 1));
      ASSERT_EQ(y[i], i);
    }
    const std::array<std::int64_t, 2> indices = {9999, 1};
    std::array<float, 6> gathered{};
    std::byte* const rows[] = {reinterpret_cast<std::byte*>(gathered.data()),
                               nullptr};
    ASSERT_TRUE((*source)->gather(indices, rows, {}));
    EXPECT_EQ(gathered,
              (std::array<float, 6>{99990, 99991, 99992, 10, 11, 12}));
  }
  EXPECT_EQ(memory.mapped_bytes(), 0);
  EXPECT_EQ(ledger.held_bytes(Space::host), 0);
}

TEST(ResidentSet, OverTheLineNothingIsMappedOrRead) {
  const NumberedSet origin(10000);
  CountingSource memory(kCapacity);
  Ledger ledger;
  ledger.set_limit(
      Space::host,
      ResidentSet::bytes_needed(origin, memory.granularity_bytes()) - 1);
  const auto source = ResidentSet::load(origin, memory, ledger);
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, ErrorCode::over_budget);
  EXPECT_EQ(memory.peak_mapped_bytes(), 0);
  EXPECT_EQ(origin.reads, 0);
}

TEST(ResidentSet, AReadThatFailsGivesEverythingBack) {
  NumberedSet origin(10000);
  origin.failing = 7000;
  CountingSource memory(kCapacity);
  Ledger ledger;
  const auto source = ResidentSet::load(origin, memory, ledger);
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().message, "example 7000");
  EXPECT_EQ(memory.mapped_bytes(), 0);
  EXPECT_EQ(ledger.held_bytes(Space::host), 0);
}

TEST(ResidentSet, MemoryTheSystemRefusesIsAnErrorToo) {
  const NumberedSet origin(10000);
  CountingSource memory(4096);
  Ledger ledger;
  const auto source = ResidentSet::load(origin, memory, ledger);
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, ErrorCode::over_budget);
  EXPECT_EQ(ledger.held_bytes(Space::host), 0);
}

TEST(ResidentSet, AHugeSetIsForecastWithoutLoading) {
  RandomSpec spec;
  spec.examples = 1'000'000'000'000;
  spec.features = {1000};
  const auto source = RandomSet::create(spec);
  ASSERT_TRUE(source);
  EXPECT_EQ(ResidentSet::bytes_needed(**source, 4096), 4'004'000'000'000'000);
}

}  // namespace
}  // namespace plimsoll::data
