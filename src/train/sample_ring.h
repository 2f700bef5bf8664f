// Values on their way back from a device, a few copies at a time. Each copy
// belongs to a position of the job: what is shown later is divided by that.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll::train {

struct Sample {
  std::span<const double> values;
  std::int64_t position = 0;  // examples in; 0: none has arrived
};

class SampleRing {
 public:
  static constexpr std::size_t kSlots = 4;

  // `room` is for kSlots copies of `values` values each.
  SampleRing() = default;
  SampleRing(double* room, std::size_t values) : room_(room), newest_(values) {}

  double* slot(std::size_t number) const {
    return room_ + number * newest_.size();
  }
  // The slot that the next copy may have; empty: all are under way.
  std::optional<std::size_t> next() const {
    if (asked_ - landed_ == kSlots) return std::nullopt;
    return static_cast<std::size_t>(asked_ % kSlots);
  }
  // A copy into next() is under way.
  void ask(std::int64_t position) {
    positions_[static_cast<std::size_t>(asked_ % kSlots)] = position;
    ++asked_;
  }
  // The newest that has arrived; `arrived(slot)` tells it of a copy.
  template <class Arrived>
  Sample newest(const Arrived& arrived) {
    for (; landed_ < asked_; ++landed_) {
      const auto number = static_cast<std::size_t>(landed_ % kSlots);
      if (!arrived(number)) break;
      std::memcpy(newest_.data(), slot(number),
                  newest_.size() * sizeof(double));
      position_ = positions_[number];
    }
    return {newest_, position_};
  }
  // What was asked for is of sums that are no more. All must have arrived.
  void drop() {
    landed_ = asked_;
    position_ = 0;
  }

 private:
  double* room_ = nullptr;
  std::vector<double> newest_;
  std::int64_t position_ = 0;
  std::array<std::int64_t, kSlots> positions_{};
  std::uint64_t asked_ = 0;
  std::uint64_t landed_ = 0;  // of these
};

}  // namespace plimsoll::train
