// Loads what is stored in any floating dtype into 16 lanes of what it is
// computed in, and back. All of it has internal linkage, as in row_math.h.
#pragma once

#include "ops/normalization/stored.h"
#include "ops/softmax/row_math.h"

namespace plimsoll::ops {
namespace {

typedef std::uint16_t HalfBits __attribute__((vector_size(32)));

inline void bits_of(const Lanes<float>& lanes, LaneBits<float>& bits) {
  __builtin_memcpy(&bits, &lanes, sizeof(bits));
}
inline void lanes_of(const LaneBits<float>& bits, Lanes<float>& lanes) {
  __builtin_memcpy(&lanes, &bits, sizeof(lanes));
}

// The conversions of base/half.h.
inline void widen(const HalfBits& stored, Bf16, Lanes<float>& lanes) {
  lanes_of(__builtin_convertvector(stored, LaneBits<float>) << 16, lanes);
}

inline void widen(const HalfBits& stored, F16, Lanes<float>& lanes) {
  const LaneBits<float> all = __builtin_convertvector(stored, LaneBits<float>);
  const LaneBits<float> magnitude = all & 0x7fffu;
  const LaneBits<float> shifted = magnitude << 13;
  lanes_of(shifted, lanes);
  lanes *= 0x1p112f;
  LaneBits<float> bits;
  bits_of(lanes, bits);
  bits = magnitude >= 0x7c00u ? shifted | 0x7f800000u : bits;
  lanes_of(bits | ((all & 0x8000u) << 16), lanes);
}

inline void narrow(const Lanes<float>& lanes, Bf16, HalfBits& stored) {
  LaneBits<float> bits;
  bits_of(lanes, bits);
  const LaneBits<float> rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const LaneBits<float> nan = (bits >> 16) | 0x40u;
  const LaneBits<float> made =
      (bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded;
  stored = __builtin_convertvector(made, HalfBits);
}

inline void narrow(const Lanes<float>& lanes, F16, HalfBits& stored) {
  LaneBits<float> bits;
  bits_of(lanes, bits);
  const LaneBits<float> sign = (bits >> 16) & 0x8000u;
  const LaneBits<float> magnitude = bits & 0x7fffffffu;
  const LaneBits<float> none = {};
  // Subnormal: the adder rounds at the last kept bit.
  Lanes<float> small;
  lanes_of(magnitude, small);
  small += 0.5f;
  LaneBits<float> subnormal;
  bits_of(small, subnormal);
  LaneBits<float> made =
      (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  made = magnitude < 0x38800000u ? subnormal - 0x3f000000u : made;
  made = magnitude >= 0x477ff000u ? none + 0x7c00u : made;
  made = magnitude > 0x7f800000u ? none + 0x7e00u : made;
  stored = __builtin_convertvector(made | sign, HalfBits);
}

// Apart, so that whole vectors stay in registers.
template <class T>
[[gnu::noinline]] void load_some_halves(const T* x, std::int64_t n,
                                        float padding, Lanes<float>& lanes) {
  std::uint16_t padded[kRowLanes] = {};
  for (std::int64_t j = 0; j < n; ++j) padded[j] = x[j].bits;
  HalfBits stored;
  __builtin_memcpy(&stored, padded, sizeof(stored));
  widen(stored, T(), lanes);
  float wide[kRowLanes];
  __builtin_memcpy(wide, &lanes, sizeof(lanes));
  for (std::int64_t j = n; j < kRowLanes; ++j) wide[j] = padding;
  __builtin_memcpy(&lanes, wide, sizeof(lanes));
}
template <class T>
[[gnu::noinline]] void store_some_halves(const Lanes<float>& lanes, T* y,
                                         std::int64_t n) {
  HalfBits stored;
  narrow(lanes, T(), stored);
  std::uint16_t padded[kRowLanes];
  __builtin_memcpy(padded, &stored, sizeof(stored));
  for (std::int64_t j = 0; j < n; ++j) y[j].bits = padded[j];
}

// The lanes at x + i of a row of n > i; those behind the end hold `padding`.
template <class T>
inline void load_wide(const T* x, std::int64_t i, std::int64_t n,
                      Computed<T> padding, Lanes<Computed<T>>& lanes) {
  if constexpr (sizeof(T) > 2) {
    load_lanes(x, i, n, padding, lanes);
  } else if (n - i >= kRowLanes) {
    HalfBits stored;
    __builtin_memcpy(&stored, x + i, sizeof(stored));
    widen(stored, T(), lanes);
  } else {
    Lanes<float> some;
    load_some_halves(x + i, n - i, padding, some);
    lanes = some;
  }
}

template <class T>
inline void store_narrow(const Lanes<Computed<T>>& lanes, T* y, std::int64_t i,
                         std::int64_t n) {
  if constexpr (sizeof(T) > 2) {
    store_lanes(lanes, y, i, n);
  } else if (n - i >= kRowLanes) {
    HalfBits stored;
    narrow(lanes, T(), stored);
    __builtin_memcpy(y + i, &stored, sizeof(stored));
  } else {
    const Lanes<float> some = lanes;
    store_some_halves(some, y + i, n - i);
  }
}

// Calls run(i, end) for each vector of a row of n, which ends at `end`: whole
// ones are seen to be, and lose their branches.
template <class Run>
inline void for_lanes(std::int64_t n, Run&& run) {
  std::int64_t i = 0;
  for (; i + kRowLanes <= n; i += kRowLanes) run(i, i + kRowLanes);
  if (i < n) run(i, n);
}

}  // namespace
}  // namespace plimsoll::ops
