// Rows in vectors of 16 lanes for the loops of softmax and its losses. All of
// it has internal linkage: each instruction-set level has its own copy.
#pragma once

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include <cstdint>

namespace plimsoll::ops {
namespace {

constexpr std::int64_t kRowLanes = 16;

// The compiler's own vectors: it splits them where registers are narrower.
// They go by reference, since how they are passed by value differs by level.
template <class T>
struct RowTypes;
template <>
struct RowTypes<float> {
  typedef float Lanes __attribute__((vector_size(64)));
  typedef std::uint32_t Bits __attribute__((vector_size(64)));
};
template <>
struct RowTypes<double> {
  typedef double Lanes __attribute__((vector_size(128)));
  typedef std::uint64_t Bits __attribute__((vector_size(128)));
};
template <class T>
using Lanes = typename RowTypes<T>::Lanes;
template <class T>
using LaneBits = typename RowTypes<T>::Bits;

#if defined(__AVX512F__)
inline void load_some(const float* x, std::int64_t n, float padding,
                      Lanes<float>& lanes) {
  const __m512 got = _mm512_mask_loadu_ps(
      _mm512_set1_ps(padding), static_cast<__mmask16>((1u << n) - 1), x);
  __builtin_memcpy(&lanes, &got, sizeof(lanes));
}
inline void load_some(const double* x, std::int64_t n, double padding,
                      Lanes<double>& lanes) {
  const unsigned mask = (1u << n) - 1;
  const __m512d all = _mm512_set1_pd(padding);
  const __m512d got[2] = {
      _mm512_mask_loadu_pd(all, static_cast<__mmask8>(mask), x),
      _mm512_mask_loadu_pd(all, static_cast<__mmask8>(mask >> 8), x + 8)};
  __builtin_memcpy(&lanes, got, sizeof(lanes));
}
inline void store_some(const Lanes<float>& lanes, float* y, std::int64_t n) {
  __m512 from;
  __builtin_memcpy(&from, &lanes, sizeof(from));
  _mm512_mask_storeu_ps(y, static_cast<__mmask16>((1u << n) - 1), from);
}
inline void store_some(const Lanes<double>& lanes, double* y, std::int64_t n) {
  const unsigned mask = (1u << n) - 1;
  __m512d from[2];
  __builtin_memcpy(from, &lanes, sizeof(from));
  _mm512_mask_storeu_pd(y, static_cast<__mmask8>(mask), from[0]);
  _mm512_mask_storeu_pd(y + 8, static_cast<__mmask8>(mask >> 8), from[1]);
}
#else
template <class T>
inline void load_some(const T* x, std::int64_t n, T padding, Lanes<T>& lanes) {
  T padded[kRowLanes];
  for (int j = 0; j < kRowLanes; ++j) padded[j] = padding;
  for (std::int64_t j = 0; j < n; ++j) padded[j] = x[j];
  __builtin_memcpy(&lanes, padded, sizeof(lanes));
}
template <class T>
inline void store_some(const Lanes<T>& lanes, T* y, std::int64_t n) {
  T padded[kRowLanes];
  __builtin_memcpy(padded, &lanes, sizeof(lanes));
  for (std::int64_t j = 0; j < n; ++j) y[j] = padded[j];
}
#endif

// The lanes at x + i of a row of n; those behind the end hold `padding`.
template <class T>
inline void load_lanes(const T* x, std::int64_t i, std::int64_t n, T padding,
                       Lanes<T>& lanes) {
  if (n - i >= kRowLanes) {
    __builtin_memcpy(&lanes, x + i, sizeof(lanes));
  } else {
    load_some(x + i, n - i, padding, lanes);
  }
}

template <class T>
inline void store_lanes(const Lanes<T>& lanes, T* y, std::int64_t i,
                        std::int64_t n) {
  if (n - i >= kRowLanes) {
    __builtin_memcpy(y + i, &lanes, sizeof(lanes));
  } else {
    store_some(lanes, y + i, n - i);
  }
}

// Calls join(lanes, partner) with the upper half, quarter, ... moved down:
// lane 0 then holds all of them, joined in pairs.
template <class T, class Join>
inline T fold_lanes(Lanes<T>& v, Join&& join) {
  Lanes<T> p = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1,
                                       2, 3, 4, 5, 6, 7);
  join(v, p);
  p = __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8,
                              9, 10, 11);
  join(v, p);
  p = __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14,
                              15, 12, 13);
  join(v, p);
  p = __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13,
                              12, 15, 14);
  join(v, p);
  return v[0];
}

// x becomes exp(x) for x <= 0, to an ulp or two; results below the normal range
// are 0.
inline void exp_negative(Lanes<float>& x) {
  constexpr float kLowest = -87.0f;
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds
  const auto tiny = x < kLowest;
  const Lanes<float> zero = {};
  const Lanes<float> c = tiny ? zero + kLowest : x;
  const Lanes<float> shifted = c * 1.44269504f + kShift;
  const Lanes<float> n = shifted - kShift;
  const Lanes<float> r = (c - n * 0.693359375f) - n * -2.12194440e-4f;
  Lanes<float> p = r * (1.0f / 5040) + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = (p * r) * r + r + 1.0f;
  LaneBits<float> bits;
  __builtin_memcpy(&bits, &shifted, sizeof(bits));
  bits = (bits << 23) + 0x3f800000u;  // 2^n
  Lanes<float> scale;
  __builtin_memcpy(&scale, &bits, sizeof(scale));
  x = tiny ? zero : p * scale;
}

inline void exp_negative(Lanes<double>& x) {
  constexpr double kLowest = -708.0;
  constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52
  const auto tiny = x < kLowest;
  const Lanes<double> zero = {};
  const Lanes<double> c = tiny ? zero + kLowest : x;
  const Lanes<double> shifted = c * 1.4426950408889634 + kShift;
  const Lanes<double> n = shifted - kShift;
  const Lanes<double> r =
      (c - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  Lanes<double> p = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = (p * r) * r + r + 1.0;
  LaneBits<double> bits;
  __builtin_memcpy(&bits, &shifted, sizeof(bits));
  bits = (bits << 52) + 0x3ff0000000000000u;
  Lanes<double> scale;
  __builtin_memcpy(&scale, &bits, sizeof(scale));
  x = tiny ? zero : p * scale;
}

// The largest value of a row; NaN where there is one.
template <class T>
inline T row_max(const T* x, std::int64_t n) {
  const auto join = [](Lanes<T>& top, const Lanes<T>& next) {
    top = ((next > top) | (next != next)) ? next : top;
  };
  const T lowest = static_cast<T>(-__builtin_huge_val());
  Lanes<T> top;
  load_lanes(x, 0, n, lowest, top);
  for (std::int64_t i = kRowLanes; i < n; i += kRowLanes) {
    Lanes<T> next;
    load_lanes(x, i, n, lowest, next);
    join(top, next);
  }
  return fold_lanes<T>(top, join);
}

template <class T>
inline T lane_sum(Lanes<T>& lanes) {
  return fold_lanes<T>(
      lanes, [](Lanes<T>& sum, const Lanes<T>& next) { sum += next; });
}

// The sum of exp(x - top), each also stored to `y` unless that is null.
template <class T>
inline T exp_sum(const T* x, std::int64_t n, T top, T* y) {
  const T lowest = static_cast<T>(-__builtin_huge_val());
  Lanes<T> sums = {};
  for (std::int64_t i = 0; i < n; i += kRowLanes) {
    Lanes<T> lanes;
    load_lanes(x, i, n, lowest, lanes);
    lanes -= top;
    exp_negative(lanes);
    sums += lanes;
    if (y != nullptr) store_lanes(lanes, y, i, n);
  }
  return lane_sum<T>(sums);
}

}  // namespace
}  // namespace plimsoll::ops
