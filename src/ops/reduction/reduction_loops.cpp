// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/reduction/reduction_loops.h"

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

template <class T>
struct Sum {
  static constexpr double kIdentity = 0;
  static constexpr bool kFourAtOnce = true;
  static T join(T a, T b) { return a + b; }
};

template <class T>
struct Max {
  static constexpr double kIdentity = -__builtin_huge_val();
  // The nest of four selects would not be vectorised.
  static constexpr bool kFourAtOnce = false;
  // A NaN on either side stays.
  static T join(T a, T b) { return ((b > a) | (b != b)) ? b : a; }
};

// Lanes are fixed in number whatever the registers' width.
constexpr std::int64_t kLanes = kShortRow;
// An f32 lane adds at most this many values before they go to double.
constexpr std::int64_t kRowBlock = 64 * kLanes;
constexpr std::int64_t kColumnBlock = 128;  // rows, likewise

template <class T, class Op, class WideOp>
void row(const T* x, std::int64_t n, double* result) {
  double total = *result;
  std::int64_t i = 0;
  while (n - i >= kLanes) {
    const std::int64_t left = (n - i) / kLanes * kLanes;
    const std::int64_t end = i + (left < kRowBlock ? left : kRowBlock);
    T lanes[kLanes];
    for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] = x[i + j];
    for (i += kLanes; i < end; i += kLanes) {
      for (std::int64_t j = 0; j < kLanes; ++j) {
        lanes[j] = Op::join(lanes[j], x[i + j]);
      }
    }
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::int64_t j = 0; j < half; ++j) {
        lanes[j] = Op::join(lanes[j], lanes[j + half]);
      }
    }
    total = WideOp::join(total, static_cast<double>(lanes[0]));
  }
  for (; i < n; ++i) {
    total = WideOp::join(total, static_cast<double>(x[i]));
  }
  *result = total;
}

template <class T, class WideOp>
void short_rows(const T* x, std::int64_t rows, std::int64_t n,
                double* __restrict result) {
  // One row's sum waits for its last addition; eight rows fill the wait.
  constexpr std::int64_t kRows = 8;
  std::int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) {
    double totals[kRows];
    for (std::int64_t k = 0; k < kRows; ++k) totals[k] = result[r + k];
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t k = 0; k < kRows; ++k) {
        totals[k] =
            WideOp::join(totals[k], static_cast<double>(x[(r + k) * n + i]));
      }
    }
    for (std::int64_t k = 0; k < kRows; ++k) result[r + k] = totals[k];
  }
  for (; r < rows; ++r) {
    for (std::int64_t i = 0; i < n; ++i) {
      result[r] = WideOp::join(result[r], static_cast<double>(x[r * n + i]));
    }
  }
}

inline float value_of(float x) { return x; }
inline double value_of(double x) { return x; }
inline float value_of(std::uint16_t bf16) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bf16) << 16);
}

// `T` is what is stored: sums are made of its values.
template <class T, class Op, class WideOp>
void columns(const T* x, std::int64_t rows, std::int64_t stride,
             std::int64_t width, double* __restrict result) {
  decltype(value_of(T())) block[kReductionTile];
  for (std::int64_t r = 0; r < rows;) {
    const std::int64_t end =
        r + (rows - r < kColumnBlock ? rows - r : kColumnBlock);
    for (std::int64_t j = 0; j < width; ++j) {
      block[j] = value_of(x[r * stride + j]);
    }
    for (++r; Op::kFourAtOnce && r + 4 <= end; r += 4) {
      const T* a = x + r * stride;
      const T* b = a + stride;
      const T* c = b + stride;
      const T* d = c + stride;
      for (std::int64_t j = 0; j < width; ++j) {
        block[j] = Op::join(block[j],
                            Op::join(Op::join(value_of(a[j]), value_of(b[j])),
                                     Op::join(value_of(c[j]), value_of(d[j]))));
      }
    }
    for (; r < end; ++r) {
      const T* a = x + r * stride;
      for (std::int64_t j = 0; j < width; ++j) {
        block[j] = Op::join(block[j], value_of(a[j]));
      }
    }
    for (std::int64_t j = 0; j < width; ++j) {
      result[j] = WideOp::join(result[j], static_cast<double>(block[j]));
    }
  }
}

template <class T, class Out>
void divide(const T* x, std::int64_t n, double divisor, Out* y) {
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = static_cast<Out>(static_cast<double>(x[i]) / divisor);
  }
}

template <class T, template <class> class Op>
ReductionLoops<T> loops() {
  return {row<T, Op<T>, Op<double>>, short_rows<T, Op<double>>,
          columns<T, Op<T>, Op<double>>, Op<T>::kIdentity};
}

}  // namespace

ReductionTables reduction_tables() {
  return {
      loops<float, Sum>(),   loops<float, Max>(),
      loops<double, Sum>(),  loops<double, Max>(),
      divide<double, float>, divide<double, double>,
      divide<float, float>,  columns<std::uint16_t, Sum<float>, Sum<double>>};
}

}  // namespace plimsoll::ops::PLIMSOLL_ISA
