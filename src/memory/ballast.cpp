#include "memory/ballast.h"

namespace plimsoll {

Ballast::Ballast(MemorySource& source, std::int64_t room_bytes)
    : source_(&source) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 40;
  const std::int64_t granule = source.granularity_bytes();
  const std::int64_t room = room_bytes / granule * granule;
  void* hole = nullptr;
  if (room > 0) {
    hole = source.map(room);
    if (hole == nullptr) return;
  }
  for (std::int64_t bytes = kLargest; bytes >= granule; bytes /= 2) {
    while (void* start = source.map(bytes)) taken_.emplace_back(start, bytes);
  }
  if (hole != nullptr) source.unmap(hole, room);
}

Ballast::Ballast(Ballast&& other) noexcept
    : source_(other.source_), taken_(std::exchange(other.taken_, {})) {}

Ballast& Ballast::operator=(Ballast&& other) noexcept {
  std::swap(source_, other.source_);
  taken_.swap(other.taken_);
  return *this;
}

Ballast::~Ballast() {
  for (const auto& [start, bytes] : taken_) source_->unmap(start, bytes);
}

std::int64_t Ballast::bytes() const {
  std::int64_t sum = 0;
  for (const auto& [start, bytes] : taken_) sum += bytes;
  return sum;
}

}  // namespace plimsoll
