#include "memory/capped_resource.h"

#include <algorithm>
#include <new>

#include "base/units.h"

namespace plimsoll {

CappedResource::~CappedResource() {
  for (const Block& block : blocks_) source_.unmap(block.start, block.bytes);
}

void* CappedResource::do_allocate(std::size_t bytes, std::size_t alignment) {
  const std::int64_t granule = source_.granularity_bytes();
  const auto wanted = round_up(
      std::max<std::int64_t>(static_cast<std::int64_t>(bytes), 1), granule);
  if (static_cast<std::int64_t>(alignment) > granule ||
      wanted > cap_bytes_ - held_bytes_) {
    throw std::bad_alloc();
  }
  blocks_.reserve(blocks_.size() + 1);
  void* start = source_.map(wanted);
  if (start == nullptr) throw std::bad_alloc();
  blocks_.push_back({start, wanted});
  held_bytes_ += wanted;
  return start;
}

void CappedResource::do_deallocate(void* start, std::size_t, std::size_t) {
  const auto block =
      std::find_if(blocks_.begin(), blocks_.end(),
                   [&](const Block& held) { return held.start == start; });
  if (block == blocks_.end()) return;
  source_.unmap(block->start, block->bytes);
  held_bytes_ -= block->bytes;
  blocks_.erase(block);
}

}  // namespace plimsoll
