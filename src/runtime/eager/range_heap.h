// Blocks in one range of addresses, of which only some granules have memory.
// Only numbers: whoever owns the range commits and decommits.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "runtime/eager/free_ranges.h"

namespace plimsoll::runtime {

class RangeHeap {
 public:
  // Without memory at first.
  RangeHeap(std::int64_t bytes, std::int64_t granule_bytes);

  // A block in free memory; -1: none is large enough.
  std::int64_t take(std::int64_t bytes, std::int64_t alignment);
  // Where a block could be, with and without memory; -1: nowhere.
  std::int64_t place(std::int64_t bytes, std::int64_t alignment) const {
    return holes_.best_fit(bytes, alignment);
  }
  // Takes a free place. `bare` are the granules that need memory for it.
  void claim(Range block, std::vector<Range>& bare);
  // They have it now: what lies beside the block is free memory.
  void commit(Range block, const std::vector<Range>& bare);
  // They stay without.
  void unclaim(Range block, const std::vector<Range>& bare);
  void give(Range block);

  // The most free granules with memory that are in one piece, at most `bytes`
  // of them: they are without from now on. No bytes: there are none.
  Range drop(std::int64_t bytes);
  bool can_drop() const { return ready_.most_granules().bytes > 0; }

  // f(range): all that has memory, blocks included.
  template <class F>
  void for_each_committed(F f) const {
    std::int64_t at = 0;
    for (const auto& [start, bytes] : holes_.by_start()) {
      ready_.for_each_gap({start, bytes}, [&](Range bare) {
        if (bare.start > at) f(Range{at, bare.start - at});
        at = bare.end();
      });
    }
    if (at < bytes_) f(Range{at, bytes_ - at});
  }

 private:
  std::int64_t bytes_;
  std::int64_t granule_;
  // Keeps nodes for the next range: a steady state calls no malloc.
  std::pmr::unsynchronized_pool_resource nodes_;
  FreeRanges holes_;  // all free addresses
  FreeRanges ready_;  // those with memory; the rest are whole granules
};

}  // namespace plimsoll::runtime
