// What stages with one input have in common.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/stream.h"

namespace plimsoll::data {

// Hands everything on to its input until a stage says otherwise.
class Stage : public Stream {
 public:
  const ElementSpec& spec() const override { return input_->spec(); }
  void place(Placer& placer) override { input_->place(placer); }
  Status start(std::int64_t epoch) override { return input_->start(epoch); }
  void save(State& state) const override { input_->save(state); }
  Status restore(std::int64_t epoch, StateReader& state) override {
    return input_->restore(epoch, state);
  }
  std::string whereabouts(const Element& element) const override {
    return input_->whereabouts(element);
  }

 protected:
  explicit Stage(std::unique_ptr<Stream> input) : input_(std::move(input)) {}

  std::unique_ptr<Stream> input_;
};

// "element 7 (x.tfrecord, offset 1234): resize: message".
Error at_element(const Stream& stream, const Element& element,
                 const std::string& stage, const Error& error);

// Numbers that a stream's save() pushes: as many at any time.
int state_numbers(const Stream& stream);
// Zeros after a state, up to `numbers` of them: states of one size.
void save_padded(const Stream& stream, int numbers, State& state);
// Reads numbers that are of no use.
Status pass_over(StateReader& state, int numbers);

// Copies what an element of `fields` fields has.
inline void copy_element(const Element& from, std::size_t fields, Element& to) {
  to.index = from.index;
  to.offset = from.offset;
  to.file = from.file;
  for (std::size_t i = 0; i < fields; ++i) to.values[i] = from.values[i];
}

// The number of one of several inputs goes along in an element's file number,
// so that whereabouts() finds its way back.
int file_of_input(int file, std::size_t input, std::size_t inputs);
std::string whereabouts_of_input(
    const Element& element, const std::vector<std::unique_ptr<Stream>>& of);

}  // namespace plimsoll::data
