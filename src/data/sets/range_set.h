// The numbers first, first + step, ...: one i64 field, `value`.
#pragma once

#include <memory>

#include "data/indexed.h"

namespace plimsoll::data {

class RangeSet final : public Indexed {
 public:
  // Up to, not including, `end`.
  static Result<std::unique_ptr<RangeSet>> create(std::int64_t first,
                                                  std::int64_t end,
                                                  std::int64_t step);

  std::string name() const override { return "range"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t size() const override { return size_; }
  Status gather(std::span<const std::int64_t> numbers,
                std::span<std::byte* const> rows,
                const ReadContext& context) const override;
  std::string whereabouts(std::int64_t) const override { return {}; }
  std::string describe() const override;

 private:
  RangeSet(std::int64_t first, std::int64_t step, std::int64_t size)
      : first_(first), step_(step), size_(size) {}

  std::int64_t first_, step_, size_;
  ElementSpec spec_{fixed_field("value", DType::i64, {})};
};

}  // namespace plimsoll::data
