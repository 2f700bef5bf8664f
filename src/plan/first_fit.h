// Places items one by one among those already placed.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace plimsoll::plan {

// An item with its life in dense steps, so that a scan reads few bytes.
struct DenseItem {
  std::int32_t lower = 0;
  std::int32_t upper = 0;
  std::int64_t size_bytes = 0;
};

enum class Fit : std::uint8_t { first, best };

// The lowest gap that holds the item, or the one that leaves the least.
class FirstFit {
 public:
  FirstFit(std::span<const DenseItem> items, std::pmr::memory_resource* memory);

  // Places items in `order` until one would end above `limit_bytes`; returns
  // how many were placed. `offsets` is by item.
  std::size_t run(std::span<const std::int32_t> order, Fit fit,
                  std::int64_t limit_bytes, std::span<std::int64_t> offsets);

  std::int64_t height_bytes() const { return height_bytes_; }
  // Placed items looked at since construction.
  std::int64_t work() const { return work_; }

 private:
  struct Placed {
    std::int32_t lower;
    std::int32_t upper;
    std::int64_t offset;
    std::int64_t end;
  };
  std::int64_t find(const DenseItem& item, Fit fit);

  std::span<const DenseItem> items_;
  std::pmr::vector<Placed> placed_;  // by offset
  std::int64_t height_bytes_ = 0;
  std::int64_t work_ = 0;
};

}  // namespace plimsoll::plan
