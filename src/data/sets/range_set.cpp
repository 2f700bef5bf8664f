#include "data/sets/range_set.h"

#include <fmt/core.h>

#include <cstring>

#include "data/check.h"

namespace plimsoll::data {

Result<std::unique_ptr<RangeSet>> RangeSet::create(std::int64_t first,
                                                   std::int64_t end,
                                                   std::int64_t step) {
  __extension__ using Wide = __int128;
  const Wide distance = static_cast<Wide>(end) - first;
  if (step == 0 || distance == 0 || (distance > 0) != (step > 0)) {
    return Error{ErrorCode::bad_input,
                 fmt::format("the range from {} to {} by {} is empty", first,
                             end, step)};
  }
  const Wide size = (distance + step + (step > 0 ? -1 : 1)) / step;
  if (size > std::int64_t{1} << 60) {
    return Error{ErrorCode::bad_input,
                 fmt::format("the range from {} to {} by {} has more than 2^60 "
                             "elements",
                             first, end, step)};
  }
  return std::unique_ptr<RangeSet>(
      new RangeSet(first, step, static_cast<std::int64_t>(size)));
}

Status RangeSet::gather(std::span<const std::int64_t> numbers,
                        std::span<std::byte* const> rows,
                        const ReadContext&) const {
  PLIMSOLL_RETURN_IF_ERROR(check_numbers(*this, numbers));
  std::byte* out = rows[0];
  if (out == nullptr) return {};
  for (const std::int64_t number : numbers) {
    const std::int64_t value = first_ + number * step_;
    std::memcpy(out, &value, sizeof(value));
    out += sizeof(value);
  }
  return {};
}

std::string RangeSet::describe() const {
  return fmt::format("range: {} numbers from {} by {}", size_, first_, step_);
}

}  // namespace plimsoll::data
