#include "data/streams/stage.h"

#include <fmt/core.h>

#include <limits>

namespace plimsoll::data {

Error at_element(const Stream& stream, const Element& element,
                 const std::string& stage, const Error& error) {
  const std::string where = stream.whereabouts(element);
  const std::string which =
      where.empty() ? fmt::format("element {}", element.index)
                    : fmt::format("element {} ({})", element.index, where);
  return {error.code, fmt::format("{}: {}: {}", which, stage, error.message)};
}

int state_numbers(const Stream& stream) {
  State state;
  stream.save(state);
  return state.fits() ? static_cast<int>(state.numbers().size())
                      : kMostStateNumbers + 1;
}

void save_padded(const Stream& stream, int numbers, State& state) {
  State own;
  stream.save(own);
  state.append(own);
  const auto count = static_cast<int>(own.numbers().size());
  for (int i = count; i < numbers; ++i) state.push(0);
}

Status pass_over(StateReader& state, int numbers) {
  using Limits = std::numeric_limits<std::int64_t>;
  for (int i = 0; i < numbers; ++i) {
    PLIMSOLL_RETURN_IF_ERROR(state.next(Limits::min(), Limits::max()));
  }
  return {};
}

int file_of_input(int file, std::size_t input, std::size_t inputs) {
  const auto coded = (static_cast<std::int64_t>(file) + 1) *
                         static_cast<std::int64_t>(inputs) +
                     static_cast<std::int64_t>(input);
  // Deeply nested inputs run out of numbers: then nothing is known.
  if (coded > std::numeric_limits<int>::max()) return -1;
  return static_cast<int>(coded);
}

std::string whereabouts_of_input(
    const Element& element, const std::vector<std::unique_ptr<Stream>>& of) {
  if (element.file < 0) return {};
  const auto coded = static_cast<std::size_t>(element.file);
  Element inner = element;
  inner.file = static_cast<int>(coded / of.size()) - 1;
  return of[coded % of.size()]->whereabouts(inner);
}

}  // namespace plimsoll::data
