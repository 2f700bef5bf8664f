#include "runtime/eager/free_ranges.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/units.h"

namespace plimsoll::runtime {

Range whole_granules(Range range, std::int64_t granule_bytes) {
  const std::int64_t first = round_up(range.start, granule_bytes);
  const std::int64_t end = range.end() / granule_bytes * granule_bytes;
  return {first, std::max<std::int64_t>(end - first, 0)};
}

std::int64_t FreeRanges::granules_in(Range range) const {
  return granule_ == 0 ? 0 : whole_granules(range, granule_).bytes;
}

FreeRanges::ByStart::iterator FreeRanges::erase(ByStart::iterator at) {
  const Range range{at->first, at->second};
  by_size_.erase({range.bytes, range.start});
  const std::int64_t inside = granules_in(range);
  if (inside > 0) by_granules_.erase({inside, range.start});
  return by_start_.erase(at);
}

void FreeRanges::insert(Range range) {
  by_start_.emplace(range.start, range.bytes);
  by_size_.emplace(range.bytes, range.start);
  const std::int64_t inside = granules_in(range);
  if (inside > 0) by_granules_.emplace(inside, range.start);
}

FreeRanges::ByStart::iterator FreeRanges::change(ByStart::iterator at,
                                                 Range to) {
  const Range from{at->first, at->second};
  auto sized = by_size_.extract({from.bytes, from.start});
  sized.value() = {to.bytes, to.start};
  by_size_.insert(std::move(sized));
  const std::int64_t inside = granules_in(from);
  if (inside > 0) by_granules_.erase({inside, from.start});
  const std::int64_t inside_now = granules_in(to);
  if (inside_now > 0) by_granules_.emplace(inside_now, to.start);
  at->second = to.bytes;
  if (to.start == from.start) return at;
  const auto next = std::next(at);
  auto node = by_start_.extract(at);
  node.key() = to.start;
  return by_start_.insert(next, std::move(node));
}

void FreeRanges::add(Range range) {
  if (range.bytes == 0) return;
  const auto next = by_start_.lower_bound(range.start);
  const bool meets_next = next != by_start_.end() && next->first == range.end();
  if (next != by_start_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == range.start) {
      range = {before->first, before->second + range.bytes};
      if (meets_next) {
        range.bytes += next->second;
        erase(next);
      }
      change(before, range);
      return;
    }
  }
  if (meets_next) {
    change(next, {range.start, range.bytes + next->second});
  } else {
    insert(range);
  }
}

void FreeRanges::remove(Range range) {
  auto at = by_start_.upper_bound(range.start);
  if (at != by_start_.begin()) --at;
  while (at != by_start_.end() && at->first < range.end()) {
    const Range found{at->first, at->second};
    const Range head{found.start, range.start - found.start};
    const Range tail{range.end(), found.end() - range.end()};
    if (found.end() <= range.start) {
      ++at;
    } else if (head.bytes > 0) {
      at = std::next(change(at, head));
      if (tail.bytes > 0) insert(tail);
    } else if (tail.bytes > 0) {
      at = std::next(change(at, tail));
    } else {
      at = erase(at);
    }
  }
}

std::int64_t FreeRanges::best_fit(std::int64_t bytes,
                                  std::int64_t alignment) const {
  // Where a block fits only unaligned, a few larger ranges are looked at
  // before one is taken that is large enough for any start.
  constexpr int kLooks = 8;
  auto found = by_size_.lower_bound({bytes, 0});
  for (int i = 0; i < kLooks && found != by_size_.end(); ++i, ++found) {
    const std::int64_t start = round_up(found->second, alignment);
    if (start + bytes <= found->second + found->first) return start;
  }
  found = by_size_.lower_bound({bytes + alignment, 0});
  return found == by_size_.end() ? -1 : round_up(found->second, alignment);
}

Range FreeRanges::most_granules() const {
  if (by_granules_.empty()) return {};
  const auto& [bytes, start] = *by_granules_.rbegin();
  return {round_up(start, granule_), bytes};
}

}  // namespace plimsoll::runtime
