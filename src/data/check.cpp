#include "data/check.h"

#include <fmt/format.h>

#include <utility>

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

Result<FieldSpec> stacked_field(const std::string& name, std::string field,
                                DType dtype, const Shape& shape) {
  const auto& dims = shape.dims();
  if (dims.empty()) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{} holds a single number; its first dimension "
                             "should count the examples",
                             name)};
  }
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 1; i < dims.size(); ++i) sizes.push_back(dims[i].size);
  PLIMSOLL_ASSIGN(const Extents extents, extents_of(name, sizes));
  PLIMSOLL_RETURN_IF_ERROR(
      check_field(name, dims[0].size, {field, dtype, extents, 0}));
  return fixed_field(std::move(field), dtype, extents);
}

Status gather_runs(std::span<const std::int64_t> numbers,
                   std::int64_t row_bytes, std::byte* out,
                   const std::function<Status(std::int64_t offset,
                                              std::span<std::byte>)>& read) {
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    const std::int64_t bytes = static_cast<std::int64_t>(end - i) * row_bytes;
    auto status =
        read(numbers[i] * row_bytes, {out, static_cast<std::size_t>(bytes)});
    if (!status) {
      Error error = std::move(status).error();
      error.message +=
          fmt::format(" (examples {} to {})", numbers[i], numbers[end - 1]);
      return error;
    }
    out += bytes;
    i = end;
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
