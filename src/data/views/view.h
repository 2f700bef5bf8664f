// What views of one set have in common.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "data/indexed.h"

namespace plimsoll::data {

// Hands everything on to its input until a view says otherwise.
class View : public Indexed {
 public:
  const ElementSpec& spec() const override { return input_->spec(); }
  std::int64_t size() const override { return input_->size(); }
  std::int64_t scratch_bytes() const override {
    return input_->scratch_bytes();
  }
  std::int64_t held_bytes() const override { return input_->held_bytes(); }
  bool prefers_blocks() const override { return input_->prefers_blocks(); }
  void origins(std::span<std::int64_t> numbers,
               std::int64_t epoch) const override {
    input_->origins(numbers, epoch);
  }
  std::string whereabouts(std::int64_t number) const override {
    return input_->whereabouts(number);
  }
  std::string describe() const override { return input_->describe(); }

 protected:
  explicit View(std::shared_ptr<const Indexed> input)
      : input_(std::move(input)) {}
  const Indexed& input() const { return *input_; }

 private:
  std::shared_ptr<const Indexed> input_;
};

}  // namespace plimsoll::data
