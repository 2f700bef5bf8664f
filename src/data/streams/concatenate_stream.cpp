#include "data/streams/concatenate_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/streams/stage.h"

namespace plimsoll::data {
namespace {

class ConcatenateStream final : public Stream {
 public:
  ConcatenateStream(std::vector<std::unique_ptr<Stream>> inputs,
                    ElementSpec spec)
      : inputs_(std::move(inputs)), spec_(std::move(spec)) {
    for (const auto& input : inputs_) {
      state_numbers_ = std::max(state_numbers_, state_numbers(*input));
    }
  }

  std::string name() const override { return "concatenate"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t count() const override {
    std::int64_t all = 0;
    for (const auto& input : inputs_) {
      const std::int64_t one = input->count();
      if (one == kUnknownCount || __builtin_add_overflow(all, one, &all)) {
        return kUnknownCount;
      }
    }
    return all;
  }

  void place(Placer& placer) override {
    for (const auto& input : inputs_) input->place(placer);
  }

  Status start(std::int64_t epoch) override {
    epoch_ = epoch;
    current_ = 0;
    return inputs_[0]->start(epoch);
  }

  Result<bool> next(Element& out) override {
    for (;;) {
      PLIMSOLL_ASSIGN(const bool got, inputs_[current_]->next(out));
      if (got) {
        out.file = file_of_input(out.file, current_, inputs_.size());
        return true;
      }
      if (current_ + 1 == inputs_.size()) return false;
      PLIMSOLL_RETURN_IF_ERROR(inputs_[current_ + 1]->start(epoch_));
      ++current_;
    }
  }

  void save(State& state) const override {
    state.push(static_cast<std::int64_t>(current_));
    save_padded(*inputs_[current_], state_numbers_, state);
  }
  Status restore(std::int64_t epoch, StateReader& state) override {
    const auto last = static_cast<std::int64_t>(inputs_.size()) - 1;
    PLIMSOLL_ASSIGN(const std::int64_t current, state.next(0, last));
    epoch_ = epoch;
    current_ = static_cast<std::size_t>(current);
    PLIMSOLL_RETURN_IF_ERROR(inputs_[current_]->restore(epoch, state));
    return pass_over(state, state_numbers_ - state_numbers(*inputs_[current_]));
  }

  std::string whereabouts(const Element& element) const override {
    return whereabouts_of_input(element, inputs_);
  }

 private:
  std::vector<std::unique_ptr<Stream>> inputs_;
  ElementSpec spec_;
  int state_numbers_ = 0;  // of the input that has most
  std::int64_t epoch_ = 0;
  std::size_t current_ = 0;
};

}  // namespace

Result<ElementSpec> common_spec(
    const std::string& stage,
    const std::vector<std::unique_ptr<Stream>>& inputs) {
  if (inputs.empty()) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{}: no inputs: at least 1 is needed", stage)};
  }
  ElementSpec common = inputs[0]->spec();
  for (const auto& input : inputs) {
    const ElementSpec& other = input->spec();
    bool same = other.size() == common.size();
    for (std::size_t i = 0; same && i < common.size(); ++i) {
      same = other[i].dtype == common[i].dtype &&
             other[i].shape.rank == common[i].shape.rank;
      common[i].most_bytes =
          std::max(common[i].most_bytes, other[i].most_bytes);
      for (int axis = 0; same && axis < common[i].shape.rank; ++axis) {
        auto& size = common[i].shape.sizes[static_cast<std::size_t>(axis)];
        if (size != other[i].shape[axis]) size = kVaries;
      }
    }
    if (!same) {
      return Error{
          ErrorCode::bad_input,
          fmt::format("{}: elements of {} ({}) cannot follow elements "
                      "of {} ({})",
                      stage, to_string(other), input->name(),
                      to_string(inputs[0]->spec()), inputs[0]->name())};
    }
  }
  return common;
}

Result<std::unique_ptr<Stream>> concatenate_stream(
    std::vector<std::unique_ptr<Stream>> inputs) {
  PLIMSOLL_ASSIGN(ElementSpec spec, common_spec("concatenate", inputs));
  return std::unique_ptr<Stream>(
      std::make_unique<ConcatenateStream>(std::move(inputs), std::move(spec)));
}

}  // namespace plimsoll::data
