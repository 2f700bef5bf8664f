#include "runtime/eager/range_heap.h"

#include <algorithm>

#include "base/units.h"

namespace plimsoll::runtime {

RangeHeap::RangeHeap(std::int64_t bytes, std::int64_t granule_bytes)
    : bytes_(bytes),
      granule_(granule_bytes),
      holes_(0, &nodes_),
      ready_(granule_bytes, &nodes_) {
  holes_.add({0, bytes});
}

std::int64_t RangeHeap::take(std::int64_t bytes, std::int64_t alignment) {
  const std::int64_t start = ready_.best_fit(bytes, alignment);
  if (start < 0) return -1;
  ready_.remove({start, bytes});
  holes_.remove({start, bytes});
  return start;
}

void RangeHeap::claim(Range block, std::vector<Range>& bare) {
  bare.clear();
  ready_.for_each_gap(block, [&](Range gap) {
    const std::int64_t first = gap.start / granule_ * granule_;
    bare.push_back({first, round_up(gap.end(), granule_) - first});
  });
  ready_.remove(block);
  holes_.remove(block);
}

void RangeHeap::commit(Range block, const std::vector<Range>& bare) {
  for (const Range& range : bare) {
    if (range.start < block.start) {
      ready_.add({range.start, block.start - range.start});
    }
    if (range.end() > block.end()) {
      ready_.add({block.end(), range.end() - block.end()});
    }
  }
}

void RangeHeap::unclaim(Range block, const std::vector<Range>& bare) {
  holes_.add(block);
  std::int64_t at = block.start;
  for (const Range& range : bare) {
    if (range.start > at) ready_.add({at, range.start - at});
    at = range.end();
  }
  if (at < block.end()) ready_.add({at, block.end() - at});
}

void RangeHeap::give(Range block) {
  holes_.add(block);
  ready_.add(block);
}

Range RangeHeap::drop(std::int64_t bytes) {
  Range most = ready_.most_granules();
  // The upper end goes: blocks gather at low addresses.
  const std::int64_t kept =
      most.bytes - std::min(round_up(bytes, granule_), most.bytes);
  most = {most.start + kept, most.bytes - kept};
  ready_.remove(most);
  return most;
}

}  // namespace plimsoll::runtime
