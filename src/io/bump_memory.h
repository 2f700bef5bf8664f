// Memory of the caller's, handed out from front to back and given back all at
// once: what the image and zip libraries allocate comes from here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plimsoll::io {

class BumpMemory {
 public:
  static constexpr std::size_t kAlignment = 64;  // vector code relies on it

  BumpMemory() = default;
  explicit BumpMemory(std::span<std::byte> memory);

  // Null when there is no room; then nothing is taken.
  void* take(std::size_t bytes) noexcept;
  // Takes the latest piece back; any other stays until the end.
  void give_back(const void* piece) noexcept;

  std::int64_t used_bytes() const { return static_cast<std::int64_t>(used_); }
  std::int64_t capacity_bytes() const {
    return static_cast<std::int64_t>(memory_.size());
  }

 private:
  std::span<std::byte> memory_;  // begins aligned
  std::size_t used_ = 0;
  std::size_t latest_ = 0;  // where the latest piece begins
};

}  // namespace plimsoll::io
