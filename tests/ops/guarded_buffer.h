// A buffer of its own between two guards, so that a write outside of it is
// seen and cannot land in a neighbour.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace plimsoll::ops::testing {

class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t bytes)
      : bytes_(bytes), storage_(bytes + 2 * kGuard + kAlignment) {
    void* start = storage_.data() + kGuard;
    std::size_t space = bytes + kGuard + kAlignment;
    data_ = static_cast<std::byte*>(
        std::align(kAlignment, bytes + kGuard, start, space));
    // The guard begins at the very next byte, whatever the size.
    std::memset(data_ - kGuard, kMark, kGuard);
    std::memset(data_ + bytes_, kMark, kGuard);
  }

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  void poison(int pattern) { std::memset(data_, pattern, bytes_); }
  void write(std::span<const std::byte> bytes) {
    if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
  }
  std::vector<std::byte> read() const { return {data_, data_ + bytes_}; }

  bool intact() const {
    return is_marked(data_ - kGuard) && is_marked(data_ + bytes_);
  }

 private:
  // Libraries have been seen to write a kilobyte past their scratch.
  static constexpr std::size_t kGuard = 4096;
  static constexpr std::size_t kAlignment = 64;
  static constexpr unsigned char kMark = 0xA5;

  static bool is_marked(const std::byte* guard) {
    return *guard == std::byte{kMark} &&
           std::memcmp(guard, guard + 1, kGuard - 1) == 0;
  }

  std::size_t bytes_;
  std::vector<std::byte> storage_;
  std::byte* data_ = nullptr;
};

}  // namespace plimsoll::ops::testing
