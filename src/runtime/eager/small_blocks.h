// Blocks of up to 2 KiB, in slabs of one size each. A bit a block, and nothing
// in the memory itself, which may be a device's.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace plimsoll::runtime {

class SmallBlocks {
 public:
  static constexpr std::int64_t kUnitBytes = 64;
  static constexpr std::int64_t kMostUnits = 32;
  // Slabs begin at multiples of their size. The end that no block fits in is
  // at most a sixteenth.
  static constexpr std::int64_t kSlabBytes = 32 * 1024;

  SmallBlocks();

  // The start of a free block, or -1: add a slab.
  std::int64_t take(std::int64_t units) noexcept {
    const std::int32_t id = open_[index(units)];
    return id < 0 ? -1 : take_from(id, units);
  }
  void add_slab(std::int64_t start, std::int64_t units);
  // The start of a slab that is no longer needed, or -1. One empty slab of
  // each size stays, so that one block to and fro costs little.
  std::int64_t give(std::int64_t start, std::int64_t units) noexcept;
  // An empty slab that had stayed, or -1: none.
  std::int64_t take_empty_slab() noexcept;

 private:
  static constexpr std::size_t kWords = kSlabBytes / kUnitBytes / 64;
  struct Slab {
    std::array<std::uint64_t, kWords> free{};  // a bit a block
    std::uint32_t words = 0;                   // which of them are not 0
    std::int32_t used = 0;
    std::int64_t start = 0;
    // Among those of its size with free blocks; or among unused numbers.
    std::int32_t next = -1;
    std::int32_t before = -1;
  };

  static std::size_t index(std::int64_t units) {
    return static_cast<std::size_t>(units - 1);
  }
  Slab& slab(std::int32_t id) { return slabs_[static_cast<std::size_t>(id)]; }
  std::int64_t take_from(std::int32_t id, std::int64_t units) noexcept;
  void link(std::int32_t id, std::size_t size) noexcept;
  void unlink(std::int32_t id, std::size_t size) noexcept;
  std::int64_t retire(std::int32_t id, std::size_t size) noexcept;

  std::vector<Slab> slabs_;
  std::vector<std::int32_t> slab_at_;  // by start / kSlabBytes; -1: none
  std::int32_t unused_ = -1;
  std::array<std::int32_t, kMostUnits> open_;   // with free blocks
  std::array<std::int32_t, kMostUnits> empty_;  // the one that stays
};

}  // namespace plimsoll::runtime
