// Ranges of addresses that never touch each other, found by address, by size
// and by the whole granules inside.
#pragma once

#include <cstdint>
#include <map>
#include <memory_resource>
#include <set>
#include <utility>

namespace plimsoll::runtime {

struct Range {
  std::int64_t start = 0;
  std::int64_t bytes = 0;
  std::int64_t end() const { return start + bytes; }
  friend bool operator==(const Range&, const Range&) = default;
};

// The whole granules inside of a range.
Range whole_granules(Range range, std::int64_t granule_bytes);

class FreeRanges {
 public:
  // Nodes come from `resource`, which should keep what is given back. No
  // granule: nobody asks for most_granules().
  FreeRanges(std::int64_t granule_bytes, std::pmr::memory_resource* resource)
      : granule_(granule_bytes),
        by_start_(resource),
        by_size_(resource),
        by_granules_(resource) {}

  // Merged with its neighbours; nothing of it may be in the set.
  void add(Range range);
  // Takes out what the set has of it.
  void remove(Range range);

  // Where an aligned block fits best, lowest address first; -1: nowhere. All
  // starts and sizes are multiples of the least alignment there is.
  std::int64_t best_fit(std::int64_t bytes, std::int64_t alignment) const;
  // The most whole granules in one piece; no bytes: there are none.
  Range most_granules() const;

  // f(part): what of `whole` is not in the set, lowest first.
  template <class F>
  void for_each_gap(Range whole, F f) const {
    std::int64_t at = whole.start;
    auto next = by_start_.upper_bound(at);
    if (next != by_start_.begin()) --next;
    for (; next != by_start_.end() && next->first < whole.end(); ++next) {
      const std::int64_t end = next->first + next->second;
      if (end <= at) continue;
      if (next->first > at) f(Range{at, next->first - at});
      at = end;
    }
    if (at < whole.end()) f(Range{at, whole.end() - at});
  }
  const std::pmr::map<std::int64_t, std::int64_t>& by_start() const {
    return by_start_;
  }

 private:
  using ByStart = std::pmr::map<std::int64_t, std::int64_t>;
  using BySize = std::pmr::set<std::pair<std::int64_t, std::int64_t>>;
  std::int64_t granules_in(Range range) const;
  ByStart::iterator erase(ByStart::iterator at);
  // In its place among the others, with the nodes that it has.
  ByStart::iterator change(ByStart::iterator at, Range to);
  void insert(Range range);

  std::int64_t granule_;
  ByStart by_start_;    // start: bytes
  BySize by_size_;      // bytes, start
  BySize by_granules_;  // bytes of whole granules, start; where there are any
};

}  // namespace plimsoll::runtime
