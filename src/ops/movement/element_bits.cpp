#include "ops/movement/element_bits.h"

#include <fmt/core.h>

#include <bit>
#include <cmath>

#include "base/half.h"

namespace plimsoll::ops {
namespace {

bool is_signed(DType dtype) {
  return dtype >= DType::i8 && dtype <= DType::i64;
}

bool holds(DType dtype, double value) {
  if (value != std::trunc(value)) return false;  // NaN too
  if (dtype == DType::boolean) return value == 0 || value == 1;
  const int bits = static_cast<int>(8 * size_of(dtype));
  const double end = std::ldexp(1.0, is_signed(dtype) ? bits - 1 : bits);
  return value < end && value >= (is_signed(dtype) ? -end : 0);
}

}  // namespace

Result<std::uint64_t> element_bits(DType dtype, double value) {
  const auto narrow = static_cast<float>(value);
  switch (dtype) {
    case DType::f32:
      return std::uint64_t{std::bit_cast<std::uint32_t>(narrow)};
    case DType::f64:
      return std::bit_cast<std::uint64_t>(value);
    case DType::bf16:
      return std::uint64_t{float_to_bf16(narrow)};
    case DType::f16:
      return std::uint64_t{float_to_f16(narrow)};
    default:
      break;
  }
  if (!holds(dtype, value)) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{} is no value of {}", value, name_of(dtype))};
  }
  const std::uint64_t bits =
      is_signed(dtype)
          ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
          : static_cast<std::uint64_t>(value);
  return bits & (~std::uint64_t{0} >> (64 - 8 * size_of(dtype)));
}

}  // namespace plimsoll::ops
