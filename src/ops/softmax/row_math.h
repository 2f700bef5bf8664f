// Rows in blocks of 16 lanes for the loops of softmax and its losses. All of
// it has internal linkage: each instruction-set level has its own copy.
#pragma once

#include <cstdint>

namespace plimsoll::ops {
namespace {

constexpr std::int64_t kRowLanes = 16;

template <class T>
struct RowBlock {
  T v[kRowLanes];
};

// The block at x + i of a row of n; lanes behind the end hold `padding`.
template <class T>
inline RowBlock<T> load_block(const T* x, std::int64_t i, std::int64_t n,
                              T padding) {
  RowBlock<T> block;
  if (n - i >= kRowLanes) {
    for (int j = 0; j < kRowLanes; ++j) block.v[j] = x[i + j];
  } else {
    for (int j = 0; j < kRowLanes; ++j) block.v[j] = padding;
    for (std::int64_t j = 0; j < n - i; ++j) block.v[j] = x[i + j];
  }
  return block;
}

template <class T>
inline void store_block(const RowBlock<T>& block, T* y, std::int64_t i,
                        std::int64_t n) {
  if (n - i >= kRowLanes) {
    for (int j = 0; j < kRowLanes; ++j) y[i + j] = block.v[j];
  } else {
    for (std::int64_t j = 0; j < n - i; ++j) y[i + j] = block.v[j];
  }
}

// exp(x) for x <= 0, to an ulp or two; results below the normal range are 0.
inline float exp_negative(float x) {
  constexpr float kLowest = -87.0f;
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds
  const float clamped = x < kLowest ? kLowest : x;
  const float shifted = clamped * 1.44269504f + kShift;
  const float n = shifted - kShift;
  const float r = (clamped - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = (p * r) * r + r + 1.0f;
  std::uint32_t bits;
  __builtin_memcpy(&bits, &shifted, sizeof(bits));
  bits = (bits << 23) + 0x3f800000u;  // 2^n
  float scale;
  __builtin_memcpy(&scale, &bits, sizeof(scale));
  const float result = p * scale;
  return x < kLowest ? 0.0f : result;
}

inline double exp_negative(double x) {
  constexpr double kLowest = -708.0;
  constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52
  const double clamped = x < kLowest ? kLowest : x;
  const double shifted = clamped * 1.4426950408889634 + kShift;
  const double n = shifted - kShift;
  const double r = (clamped - n * 6.93147180369123816490e-01) -
                   n * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
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
  std::uint64_t bits;
  __builtin_memcpy(&bits, &shifted, sizeof(bits));
  bits = (bits << 52) + 0x3ff0000000000000u;
  double scale;
  __builtin_memcpy(&scale, &bits, sizeof(scale));
  const double result = p * scale;
  return x < kLowest ? 0.0 : result;
}

// The largest value of a row; NaN where there is one.
template <class T>
inline T row_max(const T* x, std::int64_t n) {
  const T lowest = static_cast<T>(-__builtin_huge_val());
  RowBlock<T> top = load_block(x, 0, n, lowest);
  for (std::int64_t i = kRowLanes; i < n; i += kRowLanes) {
    const RowBlock<T> block = load_block(x, i, n, lowest);
    for (int j = 0; j < kRowLanes; ++j) {
      const T b = block.v[j];
      top.v[j] = ((b > top.v[j]) | (b != b)) ? b : top.v[j];
    }
  }
  for (int half = kRowLanes / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) {
      const T b = top.v[j + half];
      top.v[j] = ((b > top.v[j]) | (b != b)) ? b : top.v[j];
    }
  }
  return top.v[0];
}

// Lanes added in pairs.
template <class T>
inline T lane_sum(RowBlock<T> sums) {
  for (int half = kRowLanes / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) sums.v[j] += sums.v[j + half];
  }
  return sums.v[0];
}

// The sum of exp(x - top), each also stored to `y` unless that is null.
template <class T>
inline T exp_sum(const T* x, std::int64_t n, T top, T* y) {
  const T lowest = static_cast<T>(-__builtin_huge_val());
  RowBlock<T> sums{};
  for (std::int64_t i = 0; i < n; i += kRowLanes) {
    RowBlock<T> block = load_block(x, i, n, lowest);
    for (int j = 0; j < kRowLanes; ++j) {
      block.v[j] = exp_negative(block.v[j] - top);
    }
    for (int j = 0; j < kRowLanes; ++j) sums.v[j] += block.v[j];
    if (y != nullptr) store_block(block, y, i, n);
  }
  return lane_sum(sums);
}

}  // namespace
}  // namespace plimsoll::ops
