#include "data/sets/stacked_rows.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "data/check.h"

namespace plimsoll::data {

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

}  // namespace plimsoll::data
