// Looks for a packing below a given height by depth-first search.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "plan/first_fit.h"

namespace plimsoll::plan {

enum class Found : std::uint8_t { yes, impossible, out_of_work };

// Every packing can be pushed down until each item rests on another or on the
// floor; placed from the lowest to the highest, it is then a sequence of items
// each of which goes on top of those it shares its life with. The search walks
// these sequences and leaves one as soon as some moment cannot hold what is
// left for it. Complete, but exponential: `work` bounds it, and its records are
// bounded by a multiple of the number of items.
class CanonicalSearch {
 public:
  CanonicalSearch(std::span<const DenseItem> items,
                  std::pmr::memory_resource* memory);

  // Items with a lower rank go first where there is a choice. `offsets` is by
  // item and complete only when the answer is yes.
  Found run(std::span<const std::int32_t> rank, std::int64_t height_bytes,
            std::int64_t work, std::span<std::int64_t> offsets);

  // Items and moments looked at since construction.
  std::int64_t work() const { return work_; }

 private:
  struct Item {
    std::int32_t first;  // moment, included
    std::int32_t last;   // moment, included
    std::int64_t size_bytes;
  };
  struct Frame {
    std::size_t next;        // candidate to try, in candidates_
    std::size_t candidates;  // where its own candidates begin
    std::size_t undo;        // where its undo records begin
    std::int32_t placed;     // item, -1 while none is
  };
  struct Undo {
    std::int32_t item;
    std::int64_t rest;
  };

  void reset();
  void open_frame(std::span<const std::int32_t> rank);
  void place(std::int32_t item);
  void take_back(const Frame& frame);
  bool may_still_fit();

  std::pmr::vector<Item> items_;
  std::int32_t moments_ = 0;  // only those when most items are alive
  std::pmr::vector<std::int64_t> rests_;     // lowest offset, by item
  std::pmr::vector<std::int64_t> left_;      // bytes to place, by moment
  std::pmr::vector<std::int64_t> floors_;    // lowest rest, by moment
  std::pmr::vector<std::int32_t> unplaced_;  // items
  std::pmr::vector<std::int32_t> place_of_;  // in unplaced_, by item
  std::pmr::vector<std::int32_t> candidates_;
  std::pmr::vector<Undo> undo_;
  std::pmr::vector<Frame> frames_;
  std::int64_t height_ = 0;
  std::int64_t work_ = 0;
};

}  // namespace plimsoll::plan
