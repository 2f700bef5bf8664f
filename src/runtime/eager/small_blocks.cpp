#include "runtime/eager/small_blocks.h"

#include <algorithm>
#include <bit>

namespace plimsoll::runtime {
namespace {

constexpr std::int64_t kSlabUnits =
    SmallBlocks::kSlabBytes / SmallBlocks::kUnitBytes;

// x / units for x < kSlabUnits without a division: the error of the rounded
// reciprocal, x / 2^16, stays below 1 / units.
constexpr auto kReciprocals = [] {
  std::array<std::uint32_t, SmallBlocks::kMostUnits + 1> table{};
  for (std::uint32_t units = 1; units < table.size(); ++units) {
    table[units] = (1u << 16) / units + 1;
  }
  return table;
}();

std::uint32_t divide(std::int64_t x, std::int64_t units) {
  return static_cast<std::uint32_t>(x) *
             kReciprocals[static_cast<std::size_t>(units)] >>
         16;
}

}  // namespace

SmallBlocks::SmallBlocks() {
  open_.fill(-1);
  empty_.fill(-1);
}

void SmallBlocks::link(std::int32_t id, std::size_t size) noexcept {
  Slab& linked = slab(id);
  linked.before = -1;
  linked.next = open_[size];
  if (linked.next >= 0) slab(linked.next).before = id;
  open_[size] = id;
}

void SmallBlocks::unlink(std::int32_t id, std::size_t size) noexcept {
  const Slab& linked = slab(id);
  if (linked.next >= 0) slab(linked.next).before = linked.before;
  if (linked.before >= 0) {
    slab(linked.before).next = linked.next;
  } else {
    open_[size] = linked.next;
  }
}

std::int64_t SmallBlocks::take_from(std::int32_t id,
                                    std::int64_t units) noexcept {
  Slab& from = slab(id);
  const std::size_t size = index(units);
  const auto word = static_cast<std::size_t>(std::countr_zero(from.words));
  const auto bit = std::countr_zero(from.free[word]);
  from.free[word] &= from.free[word] - 1;
  if (from.free[word] == 0) from.words &= from.words - 1;
  if (from.used++ == 0) empty_[size] = -1;
  if (from.words == 0) unlink(id, size);
  const std::int64_t block = static_cast<std::int64_t>(word) * 64 + bit;
  return from.start + block * units * kUnitBytes;
}

void SmallBlocks::add_slab(std::int64_t start, std::int64_t units) {
  const auto at = static_cast<std::size_t>(start / kSlabBytes);
  if (at >= slab_at_.size()) {
    slab_at_.resize(std::max(at + 1, 2 * slab_at_.size()), -1);
  }
  std::int32_t id = unused_;
  if (id >= 0) {
    unused_ = slab(id).next;
  } else {
    id = static_cast<std::int32_t>(slabs_.size());
    slabs_.emplace_back();
  }
  slab_at_[at] = id;
  Slab& added = slab(id);
  added = Slab{};
  added.start = start;
  std::int64_t left = kSlabUnits / units;
  for (std::size_t word = 0; left > 0; ++word, left -= 64) {
    added.free[word] = left >= 64 ? ~0ull : (1ull << left) - 1;
    added.words |= 1u << word;
  }
  empty_[index(units)] = id;
  link(id, index(units));
}

std::int64_t SmallBlocks::give(std::int64_t start,
                               std::int64_t units) noexcept {
  const std::int32_t id =
      slab_at_[static_cast<std::size_t>(start / kSlabBytes)];
  Slab& to = slab(id);
  const std::size_t size = index(units);
  const std::uint32_t block = divide((start - to.start) / kUnitBytes, units);
  if (to.words == 0) link(id, size);
  to.free[block / 64] |= 1ull << block % 64;
  to.words |= 1u << block / 64;
  if (--to.used > 0) return -1;
  if (empty_[size] < 0) {
    empty_[size] = id;
    return -1;
  }
  return retire(id, size);
}

std::int64_t SmallBlocks::retire(std::int32_t id, std::size_t size) noexcept {
  unlink(id, size);
  const std::int64_t start = slab(id).start;
  slab_at_[static_cast<std::size_t>(start / kSlabBytes)] = -1;
  slab(id).next = unused_;
  unused_ = id;
  return start;
}

std::int64_t SmallBlocks::take_empty_slab() noexcept {
  for (std::size_t size = 0; size < empty_.size(); ++size) {
    const std::int32_t id = empty_[size];
    if (id < 0) continue;
    empty_[size] = -1;
    return retire(id, size);
  }
  return -1;
}

}  // namespace plimsoll::runtime
