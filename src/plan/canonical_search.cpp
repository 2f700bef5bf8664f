#include "plan/canonical_search.h"

#include <algorithm>
#include <limits>

namespace plimsoll::plan {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kRecordsPerItem = 100;

std::size_t pos(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

CanonicalSearch::CanonicalSearch(std::span<const DenseItem> items,
                                 std::pmr::memory_resource* memory)
    : items_(memory),
      rests_(memory),
      left_(memory),
      floors_(memory),
      unplaced_(memory),
      place_of_(memory),
      candidates_(memory),
      undo_(memory),
      frames_(memory) {
  // A moment that another one's set of items contains says nothing new: only
  // the last step before a death that follows a birth counts.
  std::int32_t steps = 0;
  for (const DenseItem& item : items) steps = std::max(steps, item.upper);
  std::pmr::vector<bool> births(pos(steps) + 1, false, memory);
  std::pmr::vector<bool> deaths(pos(steps) + 1, false, memory);
  for (const DenseItem& item : items) {
    births[pos(item.lower)] = true;
    deaths[pos(item.upper)] = true;
  }
  // Moments before each step.
  std::pmr::vector<std::int32_t> before(pos(steps) + 1, 0, memory);
  bool grown = false;
  for (std::int32_t step = 0; step <= steps; ++step) {
    if (deaths[pos(step)] && grown) {
      ++moments_;
      grown = false;
    }
    grown = grown || births[pos(step)];
    before[pos(step)] = moments_;
  }
  for (const DenseItem& item : items) {
    items_.push_back({before[pos(item.lower)], before[pos(item.upper)] - 1,
                      item.size_bytes});
  }
}

void CanonicalSearch::reset() {
  rests_.assign(items_.size(), 0);
  left_.assign(pos(moments_), 0);
  floors_.assign(pos(moments_), 0);
  unplaced_.clear();
  place_of_.clear();
  candidates_.clear();
  undo_.clear();
  frames_.clear();
  for (const Item& item : items_) {
    for (std::int32_t t = item.first; t <= item.last; ++t) {
      left_[pos(t)] += item.size_bytes;
    }
    place_of_.push_back(static_cast<std::int32_t>(unplaced_.size()));
    unplaced_.push_back(place_of_.back());
  }
}

void CanonicalSearch::open_frame(std::span<const std::int32_t> rank) {
  Frame frame{candidates_.size(), candidates_.size(), undo_.size(), -1};
  std::int64_t lowest_end = kNever;
  for (const std::int32_t item : unplaced_) {
    lowest_end =
        std::min(lowest_end, rests_[pos(item)] + items_[pos(item)].size_bytes);
  }
  std::int64_t last_offset = 0;
  std::int32_t last_rank = -1;
  if (!frames_.empty()) {
    const std::int32_t last = frames_.back().placed;
    last_offset = rests_[pos(last)];
    last_rank = rank[pos(last)];
  }
  for (const std::int32_t item : unplaced_) {
    const std::int64_t rest = rests_[pos(item)];
    // Something else would fit whole below it, or it should have gone before.
    if (rest >= lowest_end || rest < last_offset) continue;
    if (rest == last_offset && rank[pos(item)] < last_rank) continue;
    candidates_.push_back(item);
  }
  work_ += static_cast<std::int64_t>(unplaced_.size());
  std::sort(candidates_.begin() + static_cast<std::ptrdiff_t>(frame.candidates),
            candidates_.end(), [&](std::int32_t a, std::int32_t b) {
              if (rests_[pos(a)] != rests_[pos(b)]) {
                return rests_[pos(a)] < rests_[pos(b)];
              }
              return rank[pos(a)] < rank[pos(b)];
            });
  frames_.push_back(frame);
}

void CanonicalSearch::place(std::int32_t item) {
  const Item& placed = items_[pos(item)];
  const std::int64_t offset = rests_[pos(item)];
  const std::int64_t end = offset + placed.size_bytes;
  const std::int32_t hole = place_of_[pos(item)];
  unplaced_[pos(hole)] = unplaced_.back();
  place_of_[pos(unplaced_[pos(hole)])] = hole;
  unplaced_.pop_back();
  for (std::int32_t t = placed.first; t <= placed.last; ++t) {
    left_[pos(t)] -= placed.size_bytes;
  }
  for (const std::int32_t other : unplaced_) {
    const Item& it = items_[pos(other)];
    if (it.last < placed.first || it.first > placed.last) continue;
    if (rests_[pos(other)] >= end) continue;
    undo_.push_back({other, rests_[pos(other)]});
    rests_[pos(other)] = end;
  }
  frames_.back().placed = item;
}

void CanonicalSearch::take_back(const Frame& frame) {
  const Item& placed = items_[pos(frame.placed)];
  while (undo_.size() > frame.undo) {
    rests_[pos(undo_.back().item)] = undo_.back().rest;
    undo_.pop_back();
  }
  for (std::int32_t t = placed.first; t <= placed.last; ++t) {
    left_[pos(t)] += placed.size_bytes;
  }
  place_of_[pos(frame.placed)] = static_cast<std::int32_t>(unplaced_.size());
  unplaced_.push_back(frame.placed);
}

// At each moment, what is left must fit above the lowest place that any of it
// can still take.
bool CanonicalSearch::may_still_fit() {
  const std::int64_t last_offset = rests_[pos(frames_.back().placed)];
  std::fill(floors_.begin(), floors_.end(), kNever);
  for (const std::int32_t index : unplaced_) {
    const Item& item = items_[pos(index)];
    const std::int64_t rest = std::max(rests_[pos(index)], last_offset);
    if (rest + item.size_bytes > height_) return false;
    for (std::int32_t t = item.first; t <= item.last; ++t) {
      floors_[pos(t)] = std::min(floors_[pos(t)], rest);
    }
    work_ += 1 + (item.last - item.first);
  }
  for (std::size_t t = 0; t < floors_.size(); ++t) {
    if (left_[t] > 0 && floors_[t] + left_[t] > height_) return false;
  }
  work_ += moments_;
  return true;
}

Found CanonicalSearch::run(std::span<const std::int32_t> rank,
                           std::int64_t height_bytes, std::int64_t work,
                           std::span<std::int64_t> offsets) {
  reset();
  height_ = height_bytes;
  for (const std::int64_t bytes : left_) {
    if (bytes > height_) return Found::impossible;
  }
  const std::int64_t stop = work_ + work;
  const std::size_t most_records = kRecordsPerItem * items_.size();
  open_frame(rank);
  while (!frames_.empty()) {
    if (unplaced_.empty()) {
      for (const Frame& frame : frames_) {
        if (frame.placed >= 0) {
          offsets[pos(frame.placed)] = rests_[pos(frame.placed)];
        }
      }
      return Found::yes;
    }
    if (work_ > stop || undo_.size() + candidates_.size() > most_records) {
      return Found::out_of_work;
    }
    Frame& frame = frames_.back();
    if (frame.placed >= 0) {
      take_back(frame);
      frame.placed = -1;
    }
    if (frame.next == candidates_.size()) {
      candidates_.resize(frame.candidates);
      frames_.pop_back();
      continue;
    }
    place(candidates_[frame.next++]);
    if (may_still_fit() && !unplaced_.empty()) open_frame(rank);
  }
  return Found::impossible;
}

}  // namespace plimsoll::plan
