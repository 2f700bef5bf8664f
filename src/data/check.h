// Numbers and shapes come from callers: a wrong one must not reach memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "data/indexed.h"

namespace plimsoll::data {

// Every number lies within the set.
Status check_numbers(const Indexed& set, std::span<const std::int64_t> numbers);

// `size` elements of a fixed shape multiply to bytes that a file or a mapping
// can have.
Status check_field(const std::string& name, std::int64_t size,
                   const FieldSpec& field);

// 1 to kMostFields fields.
Status check_spec(const std::string& name, const ElementSpec& spec);

}  // namespace plimsoll::data
