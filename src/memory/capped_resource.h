// Working memory with a hard cap: blocks come from a MemorySource, and all of
// them go back at once when the resource does.
#pragma once

#include <memory_resource>
#include <vector>

#include "plimsoll/memory_source.h"

namespace plimsoll {

class CappedResource final : public std::pmr::memory_resource {
 public:
  CappedResource(MemorySource& source, std::int64_t cap_bytes)
      : source_(source), cap_bytes_(cap_bytes) {}
  ~CappedResource() override;
  CappedResource(const CappedResource&) = delete;
  CappedResource& operator=(const CappedResource&) = delete;

  std::int64_t held_bytes() const { return held_bytes_; }

 private:
  struct Block {
    void* start;
    std::int64_t bytes;
  };

  // Throws std::bad_alloc past the cap, as memory resources do.
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* start, std::size_t bytes,
                     std::size_t alignment) override;
  bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  MemorySource& source_;
  std::int64_t cap_bytes_;
  std::int64_t held_bytes_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace plimsoll
