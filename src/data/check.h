// What sets have in common. Numbers and shapes come from callers: a wrong one
// must not reach memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/shape.h"
#include "data/indexed.h"

namespace plimsoll::data {

// Every number lies within the set.
Status check_numbers(const Indexed& set, std::span<const std::int64_t> numbers);

// `size` elements of a fixed shape multiply to bytes that a file or a mapping
// can have.
Status check_field(const std::string& name, std::int64_t size,
                   const FieldSpec& field);

// The field whose elements an array of this shape stacks along its first axis.
// `name` begins errors.
Result<FieldSpec> stacked_field(const std::string& name, std::string field,
                                DType dtype, const Shape& shape);

// Reads rows of a file in runs: neighbours are one read.
Status gather_runs(std::span<const std::int64_t> numbers,
                   std::int64_t row_bytes, std::byte* out,
                   const std::function<Status(std::int64_t offset,
                                              std::span<std::byte>)>& read);

// 1 to kMostFields fields.
Status check_spec(const std::string& name, const ElementSpec& spec);

}  // namespace plimsoll::data
