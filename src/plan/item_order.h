// Orders in which items are worth placing.
#pragma once

#include <cstdint>
#include <span>

#include "plan/first_fit.h"

namespace plimsoll::plan {

enum class ItemOrder : std::uint8_t {
  life,   // longest first: activations nest like brackets around backward
  size,   // largest first
  area,   // size times life, largest first
  start,  // earliest first
};

// Fills `order` with all item indices; ties in the order of the items.
void sort_items(std::span<const DenseItem> items, ItemOrder by,
                std::span<std::int32_t> order);

}  // namespace plimsoll::plan
