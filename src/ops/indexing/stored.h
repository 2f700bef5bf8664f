// Elements of any dtype by their C++ types.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/half.h"

namespace plimsoll::ops {

struct StoredBf16 {
  std::uint16_t bits;
};
struct StoredF16 {
  std::uint16_t bits;
};

// What can be compared.
template <class T>
T loaded(T stored) {
  return stored;
}
inline float loaded(StoredBf16 stored) { return bf16_to_float(stored.bits); }
inline float loaded(StoredF16 stored) { return f16_to_float(stored.bits); }

// Calls f with a value of the type that stores `dtype`.
template <class F>
auto with_stored(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float());
    case DType::f64:
      return f(double());
    case DType::bf16:
      return f(StoredBf16());
    case DType::f16:
      return f(StoredF16());
    case DType::i8:
      return f(std::int8_t());
    case DType::i16:
      return f(std::int16_t());
    case DType::i32:
      return f(std::int32_t());
    case DType::i64:
      return f(std::int64_t());
    case DType::u16:
      return f(std::uint16_t());
    case DType::u32:
      return f(std::uint32_t());
    case DType::u64:
      return f(std::uint64_t());
    default:  // u8 and boolean
      return f(std::uint8_t());
  }
}

// The same for an unsigned word of so many bytes: where elements only move.
template <class F>
auto with_word(std::int64_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t());
    case 2:
      return f(std::uint16_t());
    case 4:
      return f(std::uint32_t());
    default:
      return f(std::uint64_t());
  }
}

// Index number `i` of a tensor whose dtype is_index().
inline std::int64_t index_at(const void* indices, DType dtype, std::int64_t i) {
  switch (dtype) {
    case DType::i8:
      return static_cast<const std::int8_t*>(indices)[i];
    case DType::i16:
      return static_cast<const std::int16_t*>(indices)[i];
    case DType::i32:
      return static_cast<const std::int32_t*>(indices)[i];
    case DType::u8:
      return static_cast<const std::uint8_t*>(indices)[i];
    case DType::u16:
      return static_cast<const std::uint16_t*>(indices)[i];
    case DType::u32:
      return static_cast<const std::uint32_t*>(indices)[i];
    default:
      return static_cast<const std::int64_t*>(indices)[i];
  }
}

// The row that an index names among `rows`, or -1.
inline std::int64_t row_of(std::int64_t index, std::int64_t rows,
                           bool from_end) {
  if (index < (from_end ? -rows : 0) || index >= rows) return -1;
  return index < 0 ? index + rows : index;
}

}  // namespace plimsoll::ops
