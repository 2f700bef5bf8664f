// Memory that is only counted: addresses are real and distinct, but reading
// or writing one traps.
#pragma once

#include <cstdint>
#include <mutex>

#include "plimsoll/memory_source.h"

namespace plimsoll {

class NullMemorySource final : public MemorySource {
 public:
  // Refuses what would pass `capacity_bytes`.
  NullMemorySource(std::int64_t capacity_bytes, std::int64_t granularity_bytes);

  std::int64_t granularity_bytes() const override { return granularity_; }
  void* map(std::int64_t bytes) noexcept override;
  void unmap(void* start, std::int64_t bytes) noexcept override;
  void* reserve(std::int64_t bytes) noexcept override;
  void unreserve(void* start, std::int64_t bytes) noexcept override;
  bool commit(void* start, std::int64_t bytes) noexcept override;
  void decommit(void* start, std::int64_t bytes) noexcept override;
  std::int64_t mapped_bytes() const noexcept override;
  std::int64_t peak_mapped_bytes() const noexcept override;

 private:
  bool count(std::int64_t bytes) noexcept;

  const std::int64_t capacity_;
  const std::int64_t granularity_;
  mutable std::mutex mutex_;
  std::int64_t mapped_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace plimsoll
