#include "memory/ledger.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/units.h"

namespace plimsoll {
namespace {

Holding holding(std::string owner, std::int64_t bytes,
                Space space = Space::host) {
  return {std::move(owner), Purpose::activations, space, bytes};
}

TEST(LedgerTest, EntriesGiveTheirBytesBack) {
  Ledger ledger;
  {
    auto a = ledger.charge(holding("a", 100));
    auto b = ledger.charge(holding("b", 50));
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(ledger.held_bytes(Space::host), 150);
    b->release();
    b->release();  // again: nothing more to give
    EXPECT_EQ(ledger.held_bytes(Space::host), 100);
  }
  EXPECT_EQ(ledger.held_bytes(Space::host), 0);
  EXPECT_EQ(ledger.peak_bytes(Space::host), 150);
  EXPECT_EQ(ledger.charges(), 2);
  EXPECT_TRUE(ledger.snapshot().empty());
}

TEST(LedgerTest, MovedEntriesReleaseOnce) {
  Ledger ledger;
  LedgerEntry kept;
  {
    auto charged = ledger.charge(holding("a", 100));
    LedgerEntry moved = *std::move(charged);
    kept = std::move(moved);
  }
  EXPECT_EQ(ledger.held_bytes(Space::host), 100);
  // Assigning over an entry releases what it held.
  kept = *ledger.charge(holding("b", 30));
  EXPECT_EQ(ledger.held_bytes(Space::host), 30);
  kept = LedgerEntry();
  EXPECT_EQ(ledger.held_bytes(Space::host), 0);
}

TEST(LedgerTest, TheLimitIsSharp) {
  Ledger ledger;
  ledger.set_limit(Space::host, 1000);
  const auto all = ledger.charge(holding("all", 1000));
  EXPECT_TRUE(all.ok());
  EXPECT_FALSE(ledger.charge(holding("one more", 1)).ok());
  EXPECT_TRUE(ledger.charge(holding("nothing", 0)).ok());
  EXPECT_TRUE(ledger.charge(holding("disk", 1, Space::disk)).ok());
  EXPECT_EQ(ledger.held_bytes(Space::host), 1000);
}

TEST(LedgerTest, OverBudgetNamesTheLargestHoldings) {
  Ledger ledger;
  ledger.set_limit(Space::host, 100 * kMiB);
  const auto small =
      ledger.charge({"embedding", Purpose::parameters, Space::host, 10 * kMiB});
  const auto large =
      ledger.charge({"adam", Purpose::optimizer, Space::host, 60 * kMiB});
  const auto elsewhere =
      ledger.charge({"vram", Purpose::cache, Space::device, 900 * kMiB});
  const auto failed = ledger.charge(holding("dense_1", 31 * kMiB));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::over_budget);
  const std::string& text = failed.error().message;
  for (const char* part :
       {"dense_1", "activations", "32,505,856 B", "104,857,600 B", "adam",
        "optimizer", "60.0 MiB", "embedding", "73,400,320 B"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
  EXPECT_LT(text.find("adam"), text.find("embedding"));
  EXPECT_EQ(text.find("vram"), std::string::npos);
  EXPECT_EQ(ledger.charges(), 3);
}

TEST(LedgerTest, PinnedCountsAgainstTheHost) {
  Ledger ledger;
  ledger.set_limit(Space::host, 1000);
  const auto host = ledger.charge(holding("host", 600));
  auto pinned = ledger.charge(holding("pinned", 300, Space::pinned));
  EXPECT_EQ(ledger.held_bytes(Space::host), 900);
  EXPECT_EQ(ledger.held_bytes(Space::pinned), 300);
  EXPECT_FALSE(ledger.charge(holding("more", 101, Space::pinned)).ok());
  EXPECT_EQ(ledger.held_bytes(Space::pinned), 300);
  pinned->release();
  EXPECT_EQ(ledger.held_bytes(Space::host), 600);
  EXPECT_EQ(ledger.held_bytes(Space::pinned), 0);
  ledger.set_limit(Space::pinned, 50);
  EXPECT_FALSE(ledger.charge(holding("own limit", 51, Space::pinned)).ok());
}

TEST(LedgerTest, SnapshotIsLargestFirst) {
  Ledger ledger;
  const auto a = ledger.charge(holding("a", 1));
  const auto b = ledger.charge(holding("b", 3));
  const auto c = ledger.charge(holding("c", 2, Space::device));
  const std::vector<Holding> expected = {
      holding("b", 3), holding("c", 2, Space::device), holding("a", 1)};
  EXPECT_EQ(ledger.snapshot(), expected);
}

TEST(LedgerTest, ImpossibleSizesAreRefused) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  Ledger ledger;
  EXPECT_EQ(ledger.charge(holding("minus", -1)).error().code,
            ErrorCode::bad_input);
  const auto most = ledger.charge(holding("most", kMost));
  EXPECT_TRUE(most.ok());
  EXPECT_FALSE(ledger.charge(holding("overflow", 1)).ok());
  EXPECT_EQ(ledger.held_bytes(Space::host), kMost);
}

TEST(LedgerTest, AnEntryGrowsAndShrinks) {
  Ledger ledger;
  ledger.set_limit(Space::host, 1000);
  auto pinned = ledger.charge(holding("pinned", 100, Space::pinned));
  auto entry = ledger.charge(holding("a", 0));
  ASSERT_TRUE(entry->resize(900, "b"));
  EXPECT_EQ(ledger.held_bytes(Space::host), 1000);
  const Status over = entry->resize(901, "b");
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::over_budget);
  EXPECT_NE(over.error().message.find("\"b\" asks for"), std::string::npos);
  EXPECT_FALSE(pinned->resize(101, "pinned"));
  EXPECT_EQ(ledger.held_bytes(Space::host), 1000);
  ASSERT_TRUE(entry->resize(300, "b"));
  ASSERT_TRUE(pinned->resize(50, "pinned"));
  EXPECT_EQ(ledger.held_bytes(Space::host), 350);
  EXPECT_EQ(ledger.held_bytes(Space::pinned), 50);
  EXPECT_EQ(ledger.peak_bytes(Space::host), 1000);
  EXPECT_EQ(ledger.charges(), 3);
  EXPECT_EQ(ledger.snapshot().front(), holding("a", 300));
  EXPECT_EQ(entry->resize(-1, "b").error().code, ErrorCode::bad_input);
  // Over a limit that came later, it can still shrink.
  ledger.set_limit(Space::host, 10);
  EXPECT_TRUE(entry->resize(200, "b"));
  EXPECT_FALSE(entry->resize(201, "b"));
  entry->release();
  EXPECT_EQ(entry->resize(1, "b").error().code, ErrorCode::bad_input);
  EXPECT_EQ(ledger.held_bytes(Space::host), 50);
}

TEST(LedgerTest, ABreakdownStandsForItsEntry) {
  struct Halves final : Breakdown {
    void list(const Holding& whole, std::vector<Holding>& to) const override {
      to.push_back(holding("half", whole.bytes / 2));
      to.push_back(holding("rest", whole.bytes - whole.bytes / 2));
    }
  };
  const Halves halves;
  Ledger ledger;
  ledger.set_limit(Space::host, 1000);
  auto whole = ledger.charge(holding("whole", 101));
  const auto other = ledger.charge(holding("other", 200));
  whole->set_breakdown(halves);
  const std::vector<Holding> expected = {
      holding("other", 200), holding("rest", 51), holding("half", 50)};
  EXPECT_EQ(ledger.snapshot(), expected);
  const std::string text = ledger.charge(holding("more", 1000)).error().message;
  EXPECT_NE(text.find("\"rest\""), std::string::npos) << text;
  EXPECT_EQ(text.find("\"whole\""), std::string::npos) << text;
  whole->release();
  EXPECT_EQ(ledger.snapshot().size(), 1u);
}

}  // namespace
}  // namespace plimsoll
