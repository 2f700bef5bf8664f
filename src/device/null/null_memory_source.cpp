#include "device/null/null_memory_source.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>

namespace plimsoll {

NullMemorySource::NullMemorySource(std::int64_t capacity_bytes,
                                   std::int64_t granularity_bytes)
    : capacity_(capacity_bytes), granularity_(granularity_bytes) {}

void* NullMemorySource::reserve(std::int64_t bytes) noexcept {
  if (bytes <= 0 || bytes % granularity_ != 0) return nullptr;
  void* start = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return start == MAP_FAILED ? nullptr : start;
}

void NullMemorySource::unreserve(void* start, std::int64_t bytes) noexcept {
  if (start != nullptr) munmap(start, static_cast<std::size_t>(bytes));
}

bool NullMemorySource::count(std::int64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (bytes > capacity_ - mapped_) return false;
  mapped_ += bytes;
  peak_ = std::max(peak_, mapped_);
  return true;
}

bool NullMemorySource::commit(void* start, std::int64_t bytes) noexcept {
  if (start == nullptr || bytes <= 0 || bytes % granularity_ != 0) return false;
  return count(bytes);
}

void NullMemorySource::decommit(void*, std::int64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  mapped_ -= bytes;
}

void* NullMemorySource::map(std::int64_t bytes) noexcept {
  void* start = reserve(bytes);
  if (start == nullptr || count(bytes)) return start;
  unreserve(start, bytes);
  return nullptr;
}

void NullMemorySource::unmap(void* start, std::int64_t bytes) noexcept {
  if (start == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (munmap(start, static_cast<std::size_t>(bytes)) == 0) mapped_ -= bytes;
}

std::int64_t NullMemorySource::mapped_bytes() const noexcept {
  const std::lock_guard lock(mutex_);
  return mapped_;
}

std::int64_t NullMemorySource::peak_mapped_bytes() const noexcept {
  const std::lock_guard lock(mutex_);
  return peak_;
}

}  // namespace plimsoll
