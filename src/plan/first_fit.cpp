#include "plan/first_fit.h"

#include <algorithm>
#include <limits>

namespace plimsoll::plan {

FirstFit::FirstFit(std::span<const DenseItem> items,
                   std::pmr::memory_resource* memory)
    : items_(items), placed_(memory) {
  placed_.reserve(items.size());
}

std::int64_t FirstFit::find(const DenseItem& item, Fit fit) {
  std::int64_t top = 0;  // highest end of what has been passed
  std::int64_t best_offset = -1;
  std::int64_t best_gap = std::numeric_limits<std::int64_t>::max();
  for (const Placed& other : placed_) {
    ++work_;
    if (other.upper <= item.lower || other.lower >= item.upper) continue;
    const std::int64_t gap = other.offset - top;
    if (gap >= item.size_bytes && gap < best_gap) {
      if (fit == Fit::first) return top;
      best_offset = top;
      best_gap = gap;
    }
    top = std::max(top, other.end);
  }
  return best_offset >= 0 ? best_offset : top;
}

std::size_t FirstFit::run(std::span<const std::int32_t> order, Fit fit,
                          std::int64_t limit_bytes,
                          std::span<std::int64_t> offsets) {
  placed_.clear();
  height_bytes_ = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto index = static_cast<std::size_t>(order[i]);
    const DenseItem& item = items_[index];
    const std::int64_t offset = find(item, fit);
    const std::int64_t end = offset + item.size_bytes;
    if (end > limit_bytes) return i;
    offsets[index] = offset;
    height_bytes_ = std::max(height_bytes_, end);
    const auto after = std::upper_bound(
        placed_.begin(), placed_.end(), offset,
        [](std::int64_t value, const Placed& p) { return value < p.offset; });
    placed_.insert(after, Placed{item.lower, item.upper, offset, end});
  }
  return order.size();
}

}  // namespace plimsoll::plan
