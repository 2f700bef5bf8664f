// The same elements in another order, or fewer or more of them: each position
// is translated on its own, without a table.
#pragma once

#include <memory>

#include "data/views/view.h"

namespace plimsoll::data {

// Every position stands for one position beneath, in the same epoch.
class OrderView : public View {
 public:
  Status read(std::int64_t number, Element& out,
              std::span<std::byte* const> buffers,
              const ReadContext& context) const override;
  Status gather(std::span<const std::int64_t> numbers,
                std::span<std::byte* const> rows,
                const ReadContext& context) const override;
  bool makes(int field, DType as) const override {
    return input().makes(field, as);
  }
  void origins(std::span<std::int64_t> numbers,
               std::int64_t epoch) const override;

 protected:
  using View::View;
  virtual void translate(std::span<std::int64_t> numbers,
                         std::int64_t epoch) const = 0;
};

// The whole set in a random order, a new one in each epoch.
class ShuffledView final : public OrderView {
 public:
  ShuffledView(std::shared_ptr<const Indexed> input, std::uint64_t seed)
      : OrderView(std::move(input)), seed_(seed) {}
  std::string name() const override { return "shuffle"; }

 protected:
  void translate(std::span<std::int64_t> numbers,
                 std::int64_t epoch) const override;

 private:
  std::uint64_t seed_;
};

// Elements first, first + step, ...: take, skip and shard.
class SlicedView final : public OrderView {
 public:
  static Result<std::unique_ptr<SlicedView>> take(
      std::shared_ptr<const Indexed> input, std::int64_t count);
  static Result<std::unique_ptr<SlicedView>> skip(
      std::shared_ptr<const Indexed> input, std::int64_t count);
  static Result<std::unique_ptr<SlicedView>> shard(
      std::shared_ptr<const Indexed> input, std::int64_t index,
      std::int64_t count);

  std::string name() const override { return name_; }
  std::int64_t size() const override { return size_; }
  const std::byte* borrow(int field, std::int64_t first) const override {
    return step_ == 1 ? input().borrow(field, first_ + first) : nullptr;
  }

 protected:
  void translate(std::span<std::int64_t> numbers,
                 std::int64_t epoch) const override;

 private:
  SlicedView(std::string name, std::shared_ptr<const Indexed> input,
             std::int64_t first, std::int64_t step, std::int64_t size)
      : OrderView(std::move(input)),
        name_(std::move(name)),
        first_(first),
        step_(step),
        size_(size) {}

  std::string name_;
  std::int64_t first_, step_, size_;
};

// The set `count` times over; each repetition is an epoch of its own beneath.
class RepeatedView final : public View {
 public:
  static Result<std::unique_ptr<RepeatedView>> create(
      std::shared_ptr<const Indexed> input, std::int64_t count);

  std::string name() const override { return "repeat"; }
  std::int64_t size() const override { return input().size() * count_; }
  Status read(std::int64_t number, Element& out,
              std::span<std::byte* const> buffers,
              const ReadContext& context) const override;
  Status gather(std::span<const std::int64_t> numbers,
                std::span<std::byte* const> rows,
                const ReadContext& context) const override;
  void origins(std::span<std::int64_t> numbers,
               std::int64_t epoch) const override;

 private:
  RepeatedView(std::shared_ptr<const Indexed> input, std::int64_t count)
      : View(std::move(input)), count_(count) {}

  std::int64_t count_;
};

}  // namespace plimsoll::data
