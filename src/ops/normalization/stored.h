// Storage formats as types of their own, and what they are computed in.
#pragma once

#include <cstdint>
#include <type_traits>

namespace plimsoll::ops {

struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};

template <class T>
using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace plimsoll::ops
