// Pages from the heap, counted, refused past a capacity.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>

#include "plimsoll/memory_source.h"

namespace plimsoll {

class CountingSource final : public MemorySource {
 public:
  explicit CountingSource(std::int64_t capacity_bytes)
      : capacity_(capacity_bytes) {}

  std::int64_t granularity_bytes() const override { return 4096; }
  void* map(std::int64_t bytes) noexcept override {
    if (bytes > capacity_ - mapped_) return nullptr;
    mapped_ += bytes;
    peak_ = std::max(peak_, mapped_);
    auto block = std::make_unique<char[]>(static_cast<std::size_t>(bytes));
    void* start = block.get();
    blocks_[start] = std::move(block);
    return start;
  }
  void unmap(void* start, std::int64_t bytes) noexcept override {
    mapped_ -= bytes;
    blocks_.erase(start);
  }
  std::int64_t mapped_bytes() const noexcept override { return mapped_; }
  std::int64_t peak_mapped_bytes() const noexcept override { return peak_; }

 private:
  std::int64_t capacity_;
  std::int64_t mapped_ = 0;
  std::int64_t peak_ = 0;
  std::map<void*, std::unique_ptr<char[]>> blocks_;
};

}  // namespace plimsoll
