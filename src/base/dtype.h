// What is known of element types.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "plimsoll/dtype.h"

namespace plimsoll {

std::int64_t size_of(DType dtype);
std::string_view name_of(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);

constexpr bool is_floating(DType dtype) { return dtype <= DType::f16; }
// The types in which graphs compute and parameters train.
constexpr bool is_trainable(DType dtype) { return dtype <= DType::f64; }
// Of sums, statistics and whatever else 16 bits are too few for.
constexpr DType wide_dtype(DType dtype) {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}

}  // namespace plimsoll
