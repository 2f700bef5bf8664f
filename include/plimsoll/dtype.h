// Element types of tensors and files.
#pragma once

#include <cstdint>

namespace plimsoll {

enum class DType : std::uint8_t {
  f32,
  f64,
  bf16,
  f16,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
};

}  // namespace plimsoll
