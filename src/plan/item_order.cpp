#include "plan/item_order.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace plimsoll::plan {
namespace {

// Smaller goes first.
std::array<double, 2> key_of(const DenseItem& item, ItemOrder by) {
  const auto size = static_cast<double>(item.size_bytes);
  const double life = item.upper - item.lower;
  switch (by) {
    case ItemOrder::life:
      return {-life, -size};
    case ItemOrder::size:
      return {-size, -life};
    case ItemOrder::area:
      return {-size * life, -size};
    case ItemOrder::start:
      return {static_cast<double>(item.lower), -life};
  }
  return {0, 0};
}

}  // namespace

void sort_items(std::span<const DenseItem> items, ItemOrder by,
                std::span<std::int32_t> order) {
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const auto x = key_of(items[static_cast<std::size_t>(a)], by);
    const auto y = key_of(items[static_cast<std::size_t>(b)], by);
    return x != y ? x < y : a < b;
  });
}

}  // namespace plimsoll::plan
