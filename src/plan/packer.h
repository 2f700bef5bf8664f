// One packing problem on its way from the first height to the best found.
#pragma once

#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>
#include <vector>

#include "plan/canonical_search.h"
#include "plan/first_fit.h"
#include "plan/item_order.h"

namespace plimsoll::plan {

// Each step stops at once when the height reaches the lower bound.
class Packer {
 public:
  Packer(std::span<const DenseItem> items, std::int64_t lower_bound_bytes,
         std::pmr::memory_resource* memory);

  bool done() const { return height_bytes_ <= lower_bound_bytes_; }
  std::int64_t height_bytes() const { return height_bytes_; }
  std::span<const std::int64_t> offsets() const { return best_; }

  // Places all items in several orders; the first always succeeds.
  void place_greedily(std::int64_t work);
  // Squeaky wheel: what does not fit below the best height goes earlier in the
  // order, ever further the more often it fails.
  void promote(std::int64_t work);
  // Depth-first search at the lower bound, from several rankings.
  void search_bound(std::int64_t work);
  // Depth-first search between the lower bound and the best height.
  void search_between(std::int64_t work);

 private:
  using Order = std::pmr::vector<std::int32_t>;

  // Keeps what is lower than the best; otherwise tells which position failed.
  bool attempt(const Order& order, Fit fit);
  Found search(ItemOrder by, std::int64_t height_bytes, std::int64_t work);

  std::span<const DenseItem> items_;
  std::int64_t lower_bound_bytes_;
  std::pmr::memory_resource* memory_;
  FirstFit fitter_;
  std::pmr::vector<std::int64_t> tried_;  // offsets, by item
  std::pmr::vector<std::int64_t> best_;   // offsets, by item
  Order best_order_;
  std::int64_t height_bytes_ = std::numeric_limits<std::int64_t>::max();
  std::size_t failed_at_ = 0;
};

}  // namespace plimsoll::plan
