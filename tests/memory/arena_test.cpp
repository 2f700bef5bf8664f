#include "memory/arena.h"

#include <gtest/gtest.h>

#include <limits>

#include "memory/counting_source.h"

namespace plimsoll {
namespace {

std::vector<Holding> two_holdings() {
  return {{"job", Purpose::parameters, Space::host, 1000},
          {"job", Purpose::activations, Space::host, 3096}};
}

TEST(ArenaTest, ChargesEachHoldingAndMapsTheirSum) {
  CountingSource source(1 << 20);
  Ledger ledger;
  {
    const auto holdings = two_holdings();
    const auto arena = Arena::commit(source, ledger, holdings);
    ASSERT_TRUE(arena.ok()) << arena.error().message;
    EXPECT_EQ(arena->bytes(), 4096);
    EXPECT_NE(arena->data(), nullptr);
    EXPECT_EQ(source.mapped_bytes(), 4096);
    EXPECT_EQ(ledger.held_bytes(Space::host), 4096);
    EXPECT_EQ(ledger.snapshot().size(), 2u);
  }
  EXPECT_EQ(source.mapped_bytes(), 0);
  EXPECT_EQ(source.peak_mapped_bytes(), 4096);
  EXPECT_EQ(ledger.held_bytes(Space::host), 0);
}

TEST(ArenaTest, NothingStaysAfterAFailure) {
  const auto holdings = two_holdings();
  {
    CountingSource source(4095);  // the system refuses
    Ledger ledger;
    const auto arena = Arena::commit(source, ledger, holdings);
    ASSERT_FALSE(arena.ok());
    EXPECT_EQ(arena.error().code, ErrorCode::over_budget);
    EXPECT_EQ(ledger.held_bytes(Space::host), 0);
  }
  CountingSource source(1 << 20);
  Ledger ledger;
  ledger.set_limit(Space::host, 4095);  // the second holding is too much
  EXPECT_FALSE(Arena::commit(source, ledger, holdings).ok());
  EXPECT_EQ(ledger.held_bytes(Space::host), 0);
  EXPECT_EQ(source.peak_mapped_bytes(), 0);
}

TEST(ArenaTest, WantsWholeGranulesAndPossibleSizes) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  CountingSource source(1 << 20);
  Ledger ledger;
  std::vector<Holding> holdings = two_holdings();
  holdings[0].bytes = 1001;
  EXPECT_EQ(Arena::commit(source, ledger, holdings).error().code,
            ErrorCode::bad_input);
  holdings[0].bytes = -4096;
  EXPECT_FALSE(Arena::commit(source, ledger, holdings).ok());
  holdings[0].bytes = kMost;
  holdings[1].bytes = kMost;
  EXPECT_FALSE(Arena::commit(source, ledger, holdings).ok());
  EXPECT_EQ(ledger.charges(), 0);
}

TEST(ArenaTest, AnEmptyArenaMapsNothing) {
  CountingSource source(0);
  Ledger ledger;
  const auto arena = Arena::commit(source, ledger, {});
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(arena->bytes(), 0);
  EXPECT_EQ(source.peak_mapped_bytes(), 0);
}

// Gives back in pieces of four pages.
class PieceSource final : public MemorySource {
 public:
  std::int64_t granularity_bytes() const override { return 4096; }
  void* map(std::int64_t bytes) noexcept override {
    mapped_ = bytes;
    return memory_;
  }
  void unmap(void* start, std::int64_t) noexcept override {
    const auto kept = static_cast<std::byte*>(start) - memory_;
    mapped_ = (kept + kPiece - 1) / kPiece * kPiece;
  }
  std::int64_t kept_bytes(const void*,
                          std::int64_t bytes) const noexcept override {
    return (bytes + kPiece - 1) / kPiece * kPiece;
  }
  std::int64_t mapped_bytes() const noexcept override { return mapped_; }
  std::int64_t peak_mapped_bytes() const noexcept override { return mapped_; }

 private:
  static constexpr std::int64_t kPiece = 4 * 4096;
  std::byte memory_[10 * 4096];
  std::int64_t mapped_ = 0;
};

TEST(ArenaTest, WhatStaysIsChargedAsItIsMapped) {
  PieceSource source;
  Ledger ledger;
  const std::vector<Holding> holdings = {
      {"job", Purpose::parameters, Space::device, 10 * 4096}};
  auto arena = Arena::commit(source, ledger, holdings);
  ASSERT_TRUE(arena.ok());
  for (const auto& [bytes, pages] :
       {std::pair{9 * 4096, 10}, {5 * 4096 + 1, 8}, {4096, 4}, {0, 0}}) {
    ASSERT_TRUE(arena->shrink_to(
        bytes, ledger, {"model", Purpose::parameters, Space::device, 0}));
    EXPECT_EQ(ledger.held_bytes(Space::device), pages * 4096);
    EXPECT_EQ(source.mapped_bytes(), pages * 4096);
    EXPECT_EQ(arena->bytes(), pages * 4096);
  }
}

TEST(ArenaTest, MovingKeepsOneOwner) {
  CountingSource source(1 << 20);
  Ledger ledger;
  const auto holdings = two_holdings();
  Arena target = *Arena::commit(source, ledger, holdings);
  Arena other = *Arena::commit(source, ledger, holdings);
  std::byte* const kept = other.data();
  target = std::move(other);
  EXPECT_EQ(target.data(), kept);
  EXPECT_EQ(source.mapped_bytes(), 4096);
  EXPECT_EQ(ledger.held_bytes(Space::host), 4096);
  const Arena last(std::move(target));
  EXPECT_EQ(target.data(), nullptr);
  EXPECT_EQ(target.bytes(), 0);
  EXPECT_EQ(source.mapped_bytes(), 4096);
}

}  // namespace
}  // namespace plimsoll
