// Two sets as one: side by side, or one after the other.
#pragma once

#include <memory>

#include "data/indexed.h"

namespace plimsoll::data {

// Element i has the fields of both sets' elements i; the shorter one decides.
class ZippedView final : public Indexed {
 public:
  static Result<std::unique_ptr<ZippedView>> create(
      std::shared_ptr<const Indexed> left,
      std::shared_ptr<const Indexed> right);

  std::string name() const override { return "zip"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t size() const override;
  std::int64_t scratch_bytes() const override;
  std::int64_t held_bytes() const override {
    return left_->held_bytes() + right_->held_bytes();
  }
  Status read(std::int64_t number, Element& out,
              std::span<std::byte* const> buffers,
              const ReadContext& context) const override;
  Status gather(std::span<const std::int64_t> numbers,
                std::span<std::byte* const> rows,
                const ReadContext& context) const override;
  const std::byte* borrow(int field, std::int64_t first) const override;
  void origins(std::span<std::int64_t> numbers,
               std::int64_t epoch) const override {
    left_->origins(numbers, epoch);
  }
  std::string whereabouts(std::int64_t number) const override {
    return left_->whereabouts(number);
  }
  std::string describe() const override;

 private:
  ZippedView(std::shared_ptr<const Indexed> left,
             std::shared_ptr<const Indexed> right)
      : left_(std::move(left)), right_(std::move(right)) {}

  std::shared_ptr<const Indexed> left_, right_;
  ElementSpec spec_;
};

class ConcatenatedView final : public Indexed {
 public:
  // Both must have the same fields.
  static Result<std::unique_ptr<ConcatenatedView>> create(
      std::shared_ptr<const Indexed> first,
      std::shared_ptr<const Indexed> second);

  std::string name() const override { return "concatenate"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t size() const override {
    return first_->size() + second_->size();
  }
  std::int64_t scratch_bytes() const override;
  std::int64_t held_bytes() const override {
    return first_->held_bytes() + second_->held_bytes();
  }
  Status read(std::int64_t number, Element& out,
              std::span<std::byte* const> buffers,
              const ReadContext& context) const override;
  Status gather(std::span<const std::int64_t> numbers,
                std::span<std::byte* const> rows,
                const ReadContext& context) const override;
  // Of both in one count: the second set's numbers follow the first's.
  void origins(std::span<std::int64_t> numbers,
               std::int64_t epoch) const override;
  std::string whereabouts(std::int64_t number) const override;
  std::string describe() const override;

 private:
  ConcatenatedView(std::shared_ptr<const Indexed> first,
                   std::shared_ptr<const Indexed> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  std::shared_ptr<const Indexed> first_, second_;
  ElementSpec spec_;
};

}  // namespace plimsoll::data
