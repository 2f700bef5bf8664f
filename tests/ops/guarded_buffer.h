// A buffer of its own between two guards, so that a write outside of it is
// seen and cannot land in a neighbour.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PLIMSOLL_CLOSED_GUARDS 1
#include <sanitizer/asan_interface.h>
#endif
#endif

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
    close(true);
  }
  ~GuardedBuffer() { close(false); }
  GuardedBuffer(GuardedBuffer&&) = default;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  void poison(int pattern) { std::memset(data_, pattern, bytes_); }
  void write(std::span<const std::byte> bytes) {
    if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
  }
  std::vector<std::byte> read() const { return {data_, data_ + bytes_}; }

  bool intact() const {
    close(false);
    const bool marked = is_marked(data_ - kGuard) && is_marked(data_ + bytes_);
    close(true);
    return marked;
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

  // The address sanitizer sees what reads a closed guard, too.
  void close([[maybe_unused]] bool closed) const {
#ifdef PLIMSOLL_CLOSED_GUARDS
    if (storage_.empty()) return;  // moved away
    for (const std::byte* guard : {data_ - kGuard, data_ + bytes_}) {
      closed ? __asan_poison_memory_region(guard, kGuard)
             : __asan_unpoison_memory_region(guard, kGuard);
    }
#endif
  }

  std::size_t bytes_;
  std::vector<std::byte> storage_;
  std::byte* data_ = nullptr;
};

}  // namespace plimsoll::ops::testing
