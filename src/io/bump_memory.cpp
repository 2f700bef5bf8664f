#include "io/bump_memory.h"

namespace plimsoll::io {

BumpMemory::BumpMemory(std::span<std::byte> memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::size_t skipped = (kAlignment - address % kAlignment) % kAlignment;
  if (skipped < memory.size()) memory_ = memory.subspan(skipped);
}

void* BumpMemory::take(std::size_t bytes) noexcept {
  const std::size_t room = memory_.size() - used_;
  if (bytes > room) return nullptr;
  const std::size_t rounded =
      (bytes + kAlignment - 1) / kAlignment * kAlignment;
  latest_ = used_;
  used_ = rounded < room ? used_ + rounded : memory_.size();
  return memory_.data() + latest_;
}

void BumpMemory::give_back(const void* piece) noexcept {
  if (used_ != latest_ && piece == memory_.data() + latest_) used_ = latest_;
}

}  // namespace plimsoll::io
