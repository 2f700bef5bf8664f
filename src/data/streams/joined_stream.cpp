#include "data/streams/joined_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "data/streams/stage.h"

namespace plimsoll::data {

JoinedStream::JoinedStream(std::vector<std::unique_ptr<Stream>> inputs,
                           ElementSpec spec)
    : inputs_(std::move(inputs)),
      spec_(std::move(spec)),
      state_numbers_(most_state_numbers(inputs_)) {}

std::int64_t JoinedStream::count() const {
  std::int64_t all = 0;
  for (const auto& input : inputs_) {
    const std::int64_t one = input->count();
    if (one == kUnknownCount || __builtin_add_overflow(all, one, &all)) {
      return kUnknownCount;
    }
  }
  return all;
}

std::string JoinedStream::whereabouts(const Element& element) const {
  return whereabouts_of_input(element, inputs_);
}

Result<bool> JoinedStream::next_of(std::size_t i, Element& out) {
  PLIMSOLL_ASSIGN(const bool got, inputs_[i]->next(out));
  if (got) out.file = file_of_input(out.file, i, inputs_.size());
  return got;
}

void JoinedStream::save_of(std::size_t i, State& state) const {
  save_padded(*inputs_[i], state_numbers_, state);
}

Status JoinedStream::restore_of(std::size_t i, std::int64_t epoch,
                                StateReader& state) {
  PLIMSOLL_RETURN_IF_ERROR(inputs_[i]->restore(epoch, state));
  return pass_over(state, state_numbers_ - state_numbers(*inputs_[i]));
}

Status JoinedStream::pass_over_one(StateReader& state) const {
  return pass_over(state, state_numbers_);
}

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

int most_state_numbers(const std::vector<std::unique_ptr<Stream>>& inputs) {
  int most = 0;
  for (const auto& input : inputs) {
    most = std::max(most, state_numbers(*input));
  }
  return most;
}

}  // namespace plimsoll::data
