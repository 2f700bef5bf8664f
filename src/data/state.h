// Where a stream stands: a few numbers, from which the same elements follow.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace plimsoll::data {

// Small enough to stay under 1 KiB as JSON.
inline constexpr int kMostStateNumbers = 48;

class State {
 public:
  // Numbers past the most are counted but not kept: fits() is then false.
  void push(std::int64_t number) {
    if (count_ < kMostStateNumbers) {
      numbers_[static_cast<std::size_t>(count_)] = number;
    }
    ++count_;
  }
  void append(const State& other) {
    for (const std::int64_t number : other.numbers()) push(number);
    if (!other.fits()) count_ = kMostStateNumbers + 1;
  }
  void clear() { count_ = 0; }
  bool fits() const { return count_ <= kMostStateNumbers; }
  std::span<const std::int64_t> numbers() const {
    return {numbers_.data(),
            static_cast<std::size_t>(std::min(count_, kMostStateNumbers))};
  }
  friend bool operator==(const State& a, const State& b) {
    return std::ranges::equal(a.numbers(), b.numbers());
  }

 private:
  std::array<std::int64_t, kMostStateNumbers> numbers_{};
  int count_ = 0;
};

// Reads a state's numbers back in the order they were pushed.
class StateReader {
 public:
  explicit StateReader(std::span<const std::int64_t> numbers)
      : numbers_(numbers) {}

  // The next number, which must lie in [least, most].
  Result<std::int64_t> next(std::int64_t least, std::int64_t most);
  bool at_end() const { return numbers_.empty(); }

 private:
  std::span<const std::int64_t> numbers_;
};

}  // namespace plimsoll::data
