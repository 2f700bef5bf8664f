#include "device/cpu/host_memory_source.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "device/cpu/address_limit.h"

namespace plimsoll {
namespace {

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

// Makes every page resident. Kernels before 5.14 do not know the advice:
// there the pages are touched one by one.
bool populate(void* start, std::size_t bytes, std::size_t page) {
  if (madvise(start, bytes, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;
  auto* first = static_cast<volatile std::byte*>(start);
  for (std::size_t at = 0; at < bytes; at += page) first[at] = std::byte{0};
  return true;
}

}  // namespace

HostMemorySource::HostMemorySource() : page_bytes_(sysconf(_SC_PAGESIZE)) {}

void* HostMemorySource::map(std::int64_t bytes) noexcept {
  if (bytes <= 0 || bytes % page_bytes_ != 0) return nullptr;
  const auto size = static_cast<std::size_t>(bytes);
  std::optional<AddressLimit> limit;
  if (most_bytes_) limit.emplace(*most_bytes_ - mapped_);
  void* start = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  // Huge pages only where a plan counts them: the advice also keeps this range
  // from being merged with a neighbour and collapsed behind our back. Kernels
  // without huge pages refuse it, rightly.
  madvise(start, size, MADV_NOHUGEPAGE);
  if (!populate(start, size, static_cast<std::size_t>(page_bytes_))) {
    munmap(start, size);
    return nullptr;
  }
  count(bytes);
  return start;
}

void HostMemorySource::count(std::int64_t bytes) noexcept {
  const std::int64_t now = mapped_.fetch_add(bytes) + bytes;
  std::int64_t peak = peak_.load();
  while (peak < now && !peak_.compare_exchange_weak(peak, now)) {
  }
}

void HostMemorySource::unmap(void* start, std::int64_t bytes) noexcept {
  if (start == nullptr) return;
  if (munmap(start, static_cast<std::size_t>(bytes)) == 0) mapped_ -= bytes;
}

void* HostMemorySource::reserve(std::int64_t bytes) noexcept {
  if (bytes <= 0 || bytes % page_bytes_ != 0) return nullptr;
  const auto size = static_cast<std::size_t>(bytes);
  // Writable as a whole: changing the protection of parts would split the
  // range into more mappings than the system allows a process.
  void* start = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  madvise(start, size, MADV_NOHUGEPAGE);
  // Nor need a dump of the process look at every page of it.
  madvise(start, size, MADV_DONTDUMP);
  return start;
}

void HostMemorySource::unreserve(void* start, std::int64_t bytes) noexcept {
  if (start != nullptr) munmap(start, static_cast<std::size_t>(bytes));
}

bool HostMemorySource::commit(void* start, std::int64_t bytes) noexcept {
  if (bytes <= 0 || bytes % page_bytes_ != 0) return false;
  if (most_bytes_ && bytes > *most_bytes_ - mapped_) return false;
  const auto size = static_cast<std::size_t>(bytes);
  if (!populate(start, size, static_cast<std::size_t>(page_bytes_))) {
    madvise(start, size, MADV_DONTNEED);
    return false;
  }
  count(bytes);
  return true;
}

void HostMemorySource::decommit(void* start, std::int64_t bytes) noexcept {
  if (madvise(start, static_cast<std::size_t>(bytes), MADV_DONTNEED) == 0) {
    mapped_ -= bytes;
  }
}

}  // namespace plimsoll
