#include "data/state.h"

#include <fmt/core.h>

namespace plimsoll::data {

Result<std::int64_t> StateReader::next(std::int64_t least, std::int64_t most) {
  if (numbers_.empty()) {
    return Error{ErrorCode::bad_input,
                 "the saved position ends too early: it belongs to another "
                 "pipeline"};
  }
  const std::int64_t number = numbers_.front();
  if (number < least || number > most) {
    return Error{ErrorCode::bad_input,
                 fmt::format("the saved position has {} where {} to {} is "
                             "right: it belongs to another pipeline",
                             number, least, most)};
  }
  numbers_ = numbers_.subspan(1);
  return number;
}

}  // namespace plimsoll::data
