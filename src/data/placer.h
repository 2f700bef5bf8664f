// Gives out the parts of one planned range, or only counts them: the same
// calls, made twice, first size a pipeline and then place it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace plimsoll::data {

class Placer {
 public:
  struct Part {
    std::string stage;
    std::string what;  // "read buffer"
    std::int64_t bytes = 0;
  };

  // Counts; take() gives null.
  Placer() = default;
  // `base` is aligned to 64 and as large as a counting pass found.
  explicit Placer(std::byte* base) : base_(base) {}

  std::byte* take(const std::string& stage, const std::string& what,
                  std::int64_t bytes) {
    constexpr std::int64_t kAlignment = 64;
    std::byte* const at = base_ == nullptr ? nullptr : base_ + bytes_;
    parts_.push_back({stage, what, round_up(bytes, kAlignment)});
    bytes_ += parts_.back().bytes;
    return at;
  }

  std::int64_t bytes() const { return bytes_; }
  const std::vector<Part>& parts() const { return parts_; }

 private:
  std::byte* base_ = nullptr;
  std::int64_t bytes_ = 0;
  std::vector<Part> parts_;
};

}  // namespace plimsoll::data
