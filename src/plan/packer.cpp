#include "plan/packer.h"

#include <algorithm>

namespace plimsoll::plan {
namespace {

// Above this the search's first descent alone costs more than it gains.
constexpr std::size_t kMostSearched = 2000;
constexpr std::int32_t kPatience = 30;  // failures until an item goes first

std::ptrdiff_t diff(std::size_t position) {
  return static_cast<std::ptrdiff_t>(position);
}

}  // namespace

Packer::Packer(std::span<const DenseItem> items, std::int64_t lower_bound_bytes,
               std::pmr::memory_resource* memory)
    : items_(items),
      lower_bound_bytes_(lower_bound_bytes),
      memory_(memory),
      fitter_(items, memory),
      tried_(items.size(), 0, memory),
      best_(items.size(), 0, memory),
      best_order_(memory) {
  if (items.empty()) height_bytes_ = 0;
}

bool Packer::attempt(const Order& order, Fit fit) {
  failed_at_ = fitter_.run(order, fit, height_bytes_ - 1, tried_);
  if (failed_at_ < order.size()) return false;
  height_bytes_ = fitter_.height_bytes();
  best_ = tried_;
  best_order_ = order;
  return true;
}

void Packer::place_greedily(std::int64_t work) {
  Order order(items_.size(), memory_);
  for (const ItemOrder by :
       {ItemOrder::life, ItemOrder::size, ItemOrder::area, ItemOrder::start}) {
    if (!best_order_.empty() && fitter_.work() > work) return;
    sort_items(items_, by, order);
    for (const Fit fit : {Fit::first, Fit::best}) {
      if (done()) return;
      attempt(order, fit);
    }
  }
}

void Packer::promote(std::int64_t work) {
  Order order(best_order_, memory_);
  Order failures(items_.size(), 0, memory_);
  const std::int64_t stop = fitter_.work() + work;
  while (!done() && fitter_.work() < stop) {
    if (attempt(order, Fit::first)) continue;
    const auto failed = static_cast<std::size_t>(order[failed_at_]);
    failures[failed] = std::min(failures[failed] + 1, kPatience);
    const auto up = failed_at_ * static_cast<std::size_t>(failures[failed]);
    const std::size_t to = failed_at_ - (up + kPatience - 1) / kPatience;
    std::rotate(order.begin() + diff(to), order.begin() + diff(failed_at_),
                order.begin() + diff(failed_at_) + 1);
  }
}

Found Packer::search(ItemOrder by, std::int64_t height_bytes,
                     std::int64_t work) {
  Order order(items_.size(), memory_);
  Order rank(items_.size(), memory_);
  sort_items(items_, by, order);
  for (std::size_t i = 0; i < order.size(); ++i) {
    rank[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  }
  CanonicalSearch searcher(items_, memory_);
  const Found found = searcher.run(rank, height_bytes, work, tried_);
  if (found == Found::yes) {
    best_ = tried_;
    height_bytes_ = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      height_bytes_ = std::max(height_bytes_, best_[i] + items_[i].size_bytes);
    }
  }
  return found;
}

void Packer::search_bound(std::int64_t work) {
  if (items_.size() > kMostSearched) return;
  for (const ItemOrder by :
       {ItemOrder::area, ItemOrder::life, ItemOrder::size}) {
    if (done()) return;
    if (search(by, lower_bound_bytes_, work / 3) == Found::impossible) return;
  }
}

void Packer::search_between(std::int64_t work) {
  if (items_.size() > kMostSearched) return;
  constexpr int kRounds = 8;
  std::int64_t low = lower_bound_bytes_;  // not found at or below
  for (int round = 0; round < kRounds && low + 1 < height_bytes_; ++round) {
    const std::int64_t middle = low + (height_bytes_ - low) / 2;
    const ItemOrder by = round % 2 == 0 ? ItemOrder::area : ItemOrder::life;
    if (search(by, middle, work / kRounds) != Found::yes) low = middle;
  }
}

}  // namespace plimsoll::plan
