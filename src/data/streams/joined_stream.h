// What streams have in common that give the elements of several others, each
// as it is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/stream.h"

namespace plimsoll::data {

class JoinedStream : public Stream {
 public:
  const ElementSpec& spec() const final { return spec_; }
  // Of all inputs together.
  std::int64_t count() const final;
  std::string whereabouts(const Element& element) const final;

 protected:
  // At least one input; `spec` is their common one.
  JoinedStream(std::vector<std::unique_ptr<Stream>> inputs, ElementSpec spec);

  Stream& input(std::size_t i) const { return *inputs_[i]; }
  std::size_t inputs() const { return inputs_.size(); }

  // The next element of one input, marked as its.
  Result<bool> next_of(std::size_t i, Element& out);
  // States of one size, whichever input it is.
  void save_of(std::size_t i, State& state) const;
  Status restore_of(std::size_t i, std::int64_t epoch, StateReader& state);
  // Reads over a state of such a size.
  Status pass_over_one(StateReader& state) const;

 private:
  std::vector<std::unique_ptr<Stream>> inputs_;
  ElementSpec spec_;
  int state_numbers_ = 0;
};

// The spec that elements of all inputs fit: the same types and ranks; an extent
// that differs varies.
Result<ElementSpec> common_spec(
    const std::string& stage,
    const std::vector<std::unique_ptr<Stream>>& inputs);

// Of the input that saves most.
int most_state_numbers(const std::vector<std::unique_ptr<Stream>>& inputs);

}  // namespace plimsoll::data
