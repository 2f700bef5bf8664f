// Blocks of up to 64 KiB that were just given back, by their exact size: a loop
// finds those of its last round again without a search.
#pragma once

#include <array>
#include <cstdint>

namespace plimsoll::runtime {

class RecentBlocks {
 public:
  static constexpr std::int64_t kUnitBytes = 64;
  static constexpr std::int64_t kLeastUnits = 33;
  static constexpr std::int64_t kMostUnits = 1024;

  RecentBlocks() {
    last_.fill(kNone);
    for (std::int16_t i = 0; i < kNodes; ++i) at(i).before = unused(i + 1);
  }

  // The start of the last block of exactly this size, or -1.
  std::int64_t take(std::int64_t units) noexcept {
    std::int16_t& last = last_[static_cast<std::size_t>(units)];
    if (last == kNone) return -1;
    const std::int16_t node = last;
    last = at(node).before;
    at(node).before = unused_;
    unused_ = node;
    bytes_ -= units * kUnitBytes;
    return at(node).start;
  }
  // False: there are enough.
  bool give(std::int64_t start, std::int64_t units) noexcept {
    if (bytes_ + units * kUnitBytes > kMostBytes) return false;
    std::int16_t& last = last_[static_cast<std::size_t>(units)];
    const std::int16_t node = unused_;
    unused_ = at(node).before;
    at(node) = {start, last};
    last = node;
    bytes_ += units * kUnitBytes;
    return true;
  }
  bool empty() const { return bytes_ == 0; }

  // f(start, units) for each; none stays.
  template <class F>
  void take_all(F f) {
    for (std::int64_t units = kLeastUnits; !empty(); ++units) {
      for (std::int64_t start; (start = take(units)) >= 0;) f(start, units);
    }
  }

 private:
  // Of all together; so many of the smallest, at most.
  static constexpr std::int64_t kMostBytes = 1024 * 1024;
  static constexpr std::int16_t kNodes =
      kMostBytes / (kLeastUnits * kUnitBytes) + 1;
  static constexpr std::int16_t kNone = -1;
  struct Node {
    std::int64_t start = 0;
    std::int16_t before = kNone;  // of the same size; or unused like this
  };

  static std::int16_t unused(int node) {
    return node < kNodes ? static_cast<std::int16_t>(node) : kNone;
  }
  Node& at(std::int16_t node) { return nodes_[static_cast<std::size_t>(node)]; }

  std::array<Node, kNodes> nodes_;
  std::array<std::int16_t, kMostUnits + 1> last_;
  std::int16_t unused_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace plimsoll::runtime
