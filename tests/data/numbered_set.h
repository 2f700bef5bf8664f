// A set whose values say which element they belong to.
#pragma once

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>

#include "data/input.h"

namespace plimsoll::data {

// Features: three floats number * 10 + 0, 1, 2. Label: the number, i32.
class NumberedSet final : public Indexed {
 public:
  explicit NumberedSet(std::int64_t size) : size_(size) {}

  std::string name() const override { return "numbered"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t size() const override { return size_; }
  std::int64_t scratch_bytes() const override { return 128; }
  Status read(std::int64_t number, Element& out,
              std::span<std::byte* const> buffers,
              const ReadContext& context) const override {
    PLIMSOLL_RETURN_IF_ERROR(gather({&number, 1}, buffers, context));
    out.index = number;
    for (std::size_t i = 0; i < 2; ++i) {
      out.values[i] = {buffers[i], spec_[i].most_bytes, spec_[i].shape};
    }
    return {};
  }
  Status gather(std::span<const std::int64_t> numbers,
                std::span<std::byte* const> rows,
                const ReadContext& context) const override {
    if (context.scratch.size() != 128) {
      return Error{ErrorCode::internal, "the scratch has another size"};
    }
    auto* x = reinterpret_cast<float*>(rows[0]);
    auto* y = reinterpret_cast<std::int32_t*>(rows[1]);
    for (const std::int64_t number : numbers) {
      if (number == failing) {
        return Error{ErrorCode::io, "example " + std::to_string(number)};
      }
      if (number == throwing) throw std::runtime_error("thrown by the set");
      for (int i = 0; x != nullptr && i < 3; ++i) {
        *x++ = static_cast<float>(number * 10 + i);
      }
      if (y != nullptr) *y++ = static_cast<std::int32_t>(number);
    }
    ++reads;
    return {};
  }
  std::string whereabouts(std::int64_t number) const override {
    return "place " + std::to_string(number);
  }
  std::string describe() const override { return "numbered"; }

  std::atomic<std::int64_t> failing{-1};
  std::atomic<std::int64_t> throwing{-1};
  mutable std::atomic<int> reads{0};

 private:
  std::int64_t size_;
  ElementSpec spec_{fixed_field("features", DType::f32, {3}),
                    fixed_field("labels", DType::i32, {})};
};

}  // namespace plimsoll::data
