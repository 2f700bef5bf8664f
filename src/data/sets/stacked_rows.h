// Arrays in files whose first axis counts the examples: an example is a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/shape.h"
#include "data/element.h"

namespace plimsoll::data {

// The field whose elements an array of this shape stacks along its first axis.
// `name` begins errors.
Result<FieldSpec> stacked_field(const std::string& name, std::string field,
                                DType dtype, const Shape& shape);

// Reads rows of a file in runs: neighbours are one read.
Status gather_runs(std::span<const std::int64_t> numbers,
                   std::int64_t row_bytes, std::byte* out,
                   const std::function<Status(std::int64_t offset,
                                              std::span<std::byte>)>& read);

}  // namespace plimsoll::data
