// Offsets for buffers with known lifetimes: dynamic storage allocation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll::plan {

// Alive from `lower` up to, not including, `upper`.
struct PackItem {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t size_bytes = 0;
  friend bool operator==(const PackItem&, const PackItem&) = default;
};

struct Packing {
  std::vector<std::int64_t> offsets;   // one an item
  std::int64_t height_bytes = 0;       // highest end of any item
  std::int64_t lower_bound_bytes = 0;  // most bytes alive at one time
};

// Deterministic: the same items always get the same offsets. Sizes are taken
// as they are; align them before.
Packing pack(std::span<const PackItem> items);

}  // namespace plimsoll::plan
