// Series of the normal numbers, for all devices: sums and products alone, in
// one order, so that all of them give the same bits.
#pragma once

namespace plimsoll::ops {

// The first terms are enough for f32.
struct Series {
  double term[11] = {};
  int f32_terms = 0;
  int f64_terms = 0;
};

// log(m) = 2 s (1 + s^2 / 3 + s^4 / 5 + ...) with s = (m - 1) / (m + 1), for m
// between the roots of 1/2 and of 2.
inline constexpr Series kLogSeries = [] {
  Series series;
  series.f32_terms = 6;
  series.f64_terms = 11;
  for (int i = 0; i < 11; ++i) series.term[i] = 1.0 / (2 * i + 1);
  return series;
}();

// 1 - x^2 / (1 * 2) + ... or 1 - x^2 / (2 * 3) + ..., for x up to an eighth of
// a turn.
inline constexpr Series turn_series(int first) {
  Series series;
  series.f32_terms = 6;
  series.f64_terms = 9;
  series.term[0] = 1;
  for (int i = 1; i < 11; ++i) {
    const int n = 2 * (i - 1) + first;
    series.term[i] = -series.term[i - 1] / (n * (n + 1));
  }
  return series;
}
inline constexpr Series kCosineSeries = turn_series(1);
inline constexpr Series kSineSeries = turn_series(2);  // times x

inline constexpr double kLogOfTwo = 0.693147180559945309417;
inline constexpr double kWholeTurn = 6.283185307179586476925;  // 2 pi

// Random bits that a uniform number has: as many as its type holds.
inline constexpr int kBitsOfF32 = 24;
inline constexpr int kBitsOfF64 = 53;
inline constexpr int kBitsOfBf16 = 8;
inline constexpr int kBitsOfF16 = 11;

}  // namespace plimsoll::ops
