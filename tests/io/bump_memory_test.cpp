#include "io/bump_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace plimsoll::io {
namespace {

std::uintptr_t address(const void* piece) {
  return reinterpret_cast<std::uintptr_t>(piece);
}

TEST(BumpMemory, HandsOutAlignedPiecesUntilThereIsNoMore) {
  alignas(64) std::array<std::byte, 1024> memory;
  BumpMemory bump{std::span(memory).subspan(1, 512)};
  void* first = bump.take(1);
  void* second = bump.take(65);
  EXPECT_EQ(address(first), address(memory.data()) + 64);
  EXPECT_EQ(address(second), address(first) + 64);
  EXPECT_EQ(bump.used_bytes(), 64 + 128);
  EXPECT_EQ(bump.take(1000), nullptr);
  EXPECT_EQ(bump.take(~std::size_t{0}), nullptr);
  EXPECT_EQ(bump.used_bytes(), 64 + 128);
  // The last piece may be cut short of a whole alignment, not of its bytes.
  const auto left = bump.capacity_bytes() - bump.used_bytes();
  EXPECT_NE(bump.take(static_cast<std::size_t>(left)), nullptr);
  EXPECT_EQ(bump.take(1), nullptr);
}

TEST(BumpMemory, TakesOnlyTheLatestBack) {
  alignas(64) std::array<std::byte, 512> memory;
  BumpMemory bump(memory);
  void* first = bump.take(64);
  void* second = bump.take(64);
  bump.give_back(first);
  EXPECT_EQ(bump.used_bytes(), 128);
  bump.give_back(second);
  EXPECT_EQ(bump.used_bytes(), 64);
  EXPECT_EQ(bump.take(64), second);
}

TEST(BumpMemory, NothingComesOfNothing) {
  BumpMemory none;
  EXPECT_EQ(none.take(1), nullptr);
  alignas(64) std::array<std::byte, 3> few;
  BumpMemory small{std::span(few)};
  EXPECT_EQ(small.take(4), nullptr);
}

}  // namespace
}  // namespace plimsoll::io
