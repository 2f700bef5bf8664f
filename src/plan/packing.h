// Offsets for buffers with known lifetimes: dynamic storage allocation.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/result.h"

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

struct PackOptions {
  // How long to look for a height at the lower bound: the number of placed
  // items looked at, never time, so that the answer is always the same.
  std::int64_t work = 60'000'000;
  // Where the packer's own tables live; null: the default resource.
  std::pmr::memory_resource* memory = nullptr;
};

// Names the first item with an empty life or a negative size, or that takes
// the sum of all sizes past 2^62; pack() needs items that pass.
Status check_items(std::span<const PackItem> items);

// Deterministic: the same items always get the same offsets. Sizes are taken
// as they are; align them before. Items of no bytes get offset 0.
Packing pack(std::span<const PackItem> items, const PackOptions& options = {});

}  // namespace plimsoll::plan
