#include "data/check.h"

#include <fmt/core.h>

namespace plimsoll::data {

Status check_numbers(const Indexed& set,
                     std::span<const std::int64_t> numbers) {
  const auto count = static_cast<std::uint64_t>(set.size());
  for (const std::int64_t number : numbers) {
    if (static_cast<std::uint64_t>(number) >= count) {
      return Error{ErrorCode::bad_input,
                   fmt::format("{} has no element {}", set.describe(), number)};
    }
  }
  return {};
}

Status check_field(const std::string& name, std::int64_t size,
                   const FieldSpec& field) {
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::bad_input, fmt::format("{} {}", name, what)};
  };
  if (size < 1) return bad("holds no examples");
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;
  std::int64_t bytes = size;
  bool overflow = __builtin_mul_overflow(bytes, size_of(field.dtype), &bytes);
  for (int i = 0; i < field.shape.rank; ++i) {
    if (field.shape[i] < 1) {
      return bad(fmt::format(
          "has examples of {}: every size must be fixed and at least 1",
          to_string(field.shape)));
    }
    overflow =
        overflow || __builtin_mul_overflow(bytes, field.shape[i], &bytes);
  }
  if (overflow || bytes > kMostBytes) {
    return bad(fmt::format("has {} examples of {}: more than 2^60 bytes", size,
                           to_string(field.shape)));
  }
  return {};
}

Status check_spec(const std::string& name, const ElementSpec& spec) {
  if (!spec.empty() && spec.size() <= kMostFields) return {};
  return Error{ErrorCode::bad_input,
               fmt::format("{}: an element of {} fields: 1 to {} can be", name,
                           spec.size(), kMostFields)};
}

}  // namespace plimsoll::data
