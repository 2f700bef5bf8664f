// A source whose values say which example they belong to.
#pragma once

#include <atomic>
#include <stdexcept>
#include <string>

#include "data/source.h"

namespace plimsoll::data {

// Features: three floats index * 10 + 0, 1, 2. Label: the index, i32.
class NumberedSource final : public Source {
 public:
  explicit NumberedSource(std::int64_t examples) : examples_(examples) {}

  std::int64_t examples() const override { return examples_; }
  const FieldType& features() const override { return features_; }
  const FieldType& labels() const override { return labels_; }
  std::int64_t scratch_bytes(DType, DType) const override { return 100; }
  Status read(std::span<const std::int64_t> indices, DType, void* features,
              DType, void* labels,
              std::span<std::byte> scratch) const override {
    if (scratch.size() != 100) {
      return Error{ErrorCode::internal, "the scratch has another size"};
    }
    auto* x = static_cast<float*>(features);
    auto* y = static_cast<std::int32_t*>(labels);
    for (const std::int64_t index : indices) {
      if (index == failing) {
        return Error{ErrorCode::io, "example " + std::to_string(index)};
      }
      if (index == throwing) throw std::runtime_error("thrown by the source");
      for (int i = 0; i < 3; ++i) *x++ = static_cast<float>(index * 10 + i);
      *y++ = static_cast<std::int32_t>(index);
    }
    ++reads;
    return {};
  }
  std::string describe() const override { return "numbered"; }

  std::int64_t failing = -1;
  std::int64_t throwing = -1;
  mutable std::atomic<int> reads{0};

 private:
  std::int64_t examples_;
  FieldType features_{DType::f32, {3}};
  FieldType labels_{DType::i32, {}};
};

}  // namespace plimsoll::data
