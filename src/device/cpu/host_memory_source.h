// The host's pages, resident from the moment they are handed out.
#pragma once

#include <atomic>
#include <optional>

#include "plimsoll/memory_source.h"

namespace plimsoll {

class HostMemorySource final : public MemorySource {
 public:
  HostMemorySource();
  std::int64_t granularity_bytes() const override { return page_bytes_; }
  void* map(std::int64_t bytes) noexcept override;
  void unmap(void* start, std::int64_t bytes) noexcept override;
  void* reserve(std::int64_t bytes) noexcept override;
  void unreserve(void* start, std::int64_t bytes) noexcept override;
  bool commit(void* start, std::int64_t bytes) noexcept override;
  void decommit(void* start, std::int64_t bytes) noexcept override;
  std::int64_t mapped_bytes() const noexcept override { return mapped_; }
  std::int64_t peak_mapped_bytes() const noexcept override { return peak_; }
  // For tests: the system refuses to map more than this at one time.
  void set_most_bytes(std::int64_t bytes) { most_bytes_ = bytes; }

 private:
  void count(std::int64_t bytes) noexcept;

  std::int64_t page_bytes_;
  std::optional<std::int64_t> most_bytes_;
  std::atomic<std::int64_t> mapped_{0};
  std::atomic<std::int64_t> peak_{0};
};

}  // namespace plimsoll
