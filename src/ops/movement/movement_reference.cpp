#include "ops/movement/movement_reference.h"

#include <array>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "ops/movement/moves_reference.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;

void copy_values(const std::vector<RefTensor>& inputs, const Attrs&,
                 std::vector<RefTensor>& outputs) {
  outputs[0].values = inputs[0].values;
}

void transpose_values(const std::vector<RefTensor>& inputs, const Attrs& attrs,
                      std::vector<RefTensor>& outputs) {
  const auto perm = attrs.get<std::vector<std::int64_t>>("perm");
  const auto strides = row_major_strides(inputs[0].type.shape);
  const Shape& shape = outputs[0].type.shape;
  for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i);
    std::int64_t from = 0;
    for (int axis = shape.rank(); axis-- > 0;) {
      const auto source =
          static_cast<std::size_t>(perm[static_cast<std::size_t>(axis)]);
      from += rest % shape.extent(axis) * strides[source];
      rest /= shape.extent(axis);
    }
    outputs[0].values[i] = inputs[0].values[static_cast<std::size_t>(from)];
  }
}

struct Bounds {
  double low, high;
};

template <class T>
Bounds bounds() {
  return {static_cast<double>(std::numeric_limits<T>::min()),
          static_cast<double>(std::numeric_limits<T>::max())};
}

Bounds bounds_of(DType dtype) {
  switch (dtype) {
    case DType::i8:
      return bounds<std::int8_t>();
    case DType::i16:
      return bounds<std::int16_t>();
    case DType::i32:
      return bounds<std::int32_t>();
    case DType::i64:
      return bounds<std::int64_t>();
    case DType::u8:
      return bounds<std::uint8_t>();
    case DType::u16:
      return bounds<std::uint16_t>();
    case DType::u32:
      return bounds<std::uint32_t>();
    default:
      return bounds<std::uint64_t>();
  }
}

// From an integer: modulo 2^bits, as C++ converts between integers.
double wrap(double value, const Bounds& bounds) {
  const double span = bounds.high - bounds.low + 1;
  return value - std::floor((value - bounds.low) / span) * span;
}

double cast_value(double value, DType from, DType to) {
  switch (to) {
    case DType::f64:
      return value;
    case DType::f32:
      return static_cast<float>(value);
    case DType::bf16:
      return bf16_to_float(float_to_bf16(static_cast<float>(value)));
    case DType::f16:
      return f16_to_float(float_to_f16(static_cast<float>(value)));
    case DType::boolean:
      return value != 0 ? 1 : 0;
    default:
      break;
  }
  const Bounds bounds = bounds_of(to);
  if (!is_floating(from)) return wrap(value, bounds);
  if (std::isnan(value)) return 0;
  return std::fmin(std::fmax(std::trunc(value), bounds.low), bounds.high);
}

void cast_values(const std::vector<RefTensor>& inputs, const Attrs&,
                 std::vector<RefTensor>& outputs) {
  for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
    outputs[0].values[i] = cast_value(inputs[0].values[i], inputs[0].type.dtype,
                                      outputs[0].type.dtype);
  }
}

}  // namespace

std::span<const Reference> movement_references() {
  static constexpr std::array<Reference, 11> all = {{
      {"reshape", copy_values},
      {"transpose", transpose_values},
      {"cast", cast_values},
      {"copy", copy_values},
      {"pack", pack_values},
      {"unpack", unpack_values},
      {"concat", concat_values},
      {"split", split_values},
      {"slice", slice_values},
      {"pad", pad_values},
      {"expand", expand_values},
  }};
  return all;
}

}  // namespace plimsoll::ops
