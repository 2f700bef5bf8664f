// Storage formats as types of their own, and what they are computed in.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/dtype.h"

namespace plimsoll::ops {

struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};

template <class T>
using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Calls make(Stored()) with the type that stores `dtype`.
template <class Make>
auto with_stored(DType dtype, const Make& make) {
  switch (dtype) {
    case DType::f64:
      return make(double());
    case DType::bf16:
      return make(Bf16());
    case DType::f16:
      return make(F16());
    default:
      return make(float());
  }
}

// A table's loops for what is stored as T.
template <class T, class Tables>
const auto& loops_of(const Tables& tables) {
  if constexpr (std::is_same_v<T, double>) {
    return tables.f64;
  } else if constexpr (std::is_same_v<T, Bf16>) {
    return tables.bf16;
  } else if constexpr (std::is_same_v<T, F16>) {
    return tables.f16;
  } else {
    return tables.f32;
  }
}

}  // namespace plimsoll::ops
