// Register blocks of the product kernels; included once by each instruction
// set's file, hence internal linkage.
#pragma once

#include <utility>

#include "ops/matmul/small_gemm.h"
#include "ops/simd/simd.h"

namespace plimsoll::ops {
namespace {

#if defined(__clang__)
#define PLIMSOLL_UNROLL _Pragma("unroll")
#else
#define PLIMSOLL_UNROLL _Pragma("GCC unroll 16")
#endif
#define PLIMSOLL_INLINE __attribute__((always_inline)) inline

// Blocks of C that live in registers, beside the vectors of B and one element
// of A: 6 x 4 vectors of 32 registers, 6 x 2 of 16. Narrow blocks have more
// rows, so that enough sums are under way to hide the multiplier's latency.
template <class T>
inline constexpr int kMicroVectors = Simd<T>::kRegisters == 32 ? 4 : 2;
inline constexpr int kMicroRows = 6;
inline constexpr int kNarrowRows = 8;  // of blocks one vector wide

// Where a block of C ends: what happens to it after the sum over k.
template <class T>
struct Epilogue {
  const T* bias;
  bool one_bias;
  bool relu;
  bool accumulate;
};

// By value: a reference would send the sums through memory.
template <class T>
PLIMSOLL_INLINE typename Simd<T>::Reg finish(typename Simd<T>::Reg sum,
                                             const T* c, int offset,
                                             typename Simd<T>::Mask mask,
                                             const Epilogue<T>& epilogue) {
  using S = Simd<T>;
  if (epilogue.accumulate) sum = S::add(S::load(c + offset, mask), sum);
  if (epilogue.bias) {
    sum =
        S::add(sum, epilogue.one_bias ? S::set(epilogue.bias[0])
                                      : S::load(epilogue.bias + offset, mask));
  }
  // A NaN passes: it is the second operand.
  return epilogue.relu ? S::max(S::zero(), sum) : sum;
}

// C[Rows, Vectors * lanes] = A B. One stride of A is always 1: along a column
// where `Columns`, else along a row; `a_step` is the other. `last` masks the
// final vector.
template <class T, bool Columns, int Rows, int Vectors>
void micro(std::int64_t k, const T* a, std::int64_t a_step, const T* b,
           std::int64_t b_row, T* c, std::int64_t c_row,
           typename Simd<T>::Mask last, const Epilogue<T>& epilogue) {
  using S = Simd<T>;
  typename S::Reg sum[Rows][Vectors];
  PLIMSOLL_UNROLL
  for (int i = 0; i < Rows; ++i) {
    PLIMSOLL_UNROLL
    for (int j = 0; j < Vectors; ++j) sum[i][j] = S::zero();
  }
  const std::int64_t a_next = Columns ? a_step : 1;
  for (std::int64_t p = 0; p < k; ++p) {
    typename S::Reg value[Vectors];
    PLIMSOLL_UNROLL
    for (int j = 0; j < Vectors; ++j) {
      value[j] = j + 1 < Vectors ? S::load(b + j * S::kLanes)
                                 : S::load(b + j * S::kLanes, last);
    }
    PLIMSOLL_UNROLL
    for (int i = 0; i < Rows; ++i) {
      const auto factor = S::set(a[Columns ? i : i * a_step]);
      PLIMSOLL_UNROLL
      for (int j = 0; j < Vectors; ++j) {
        sum[i][j] = S::fma(factor, value[j], sum[i][j]);
      }
    }
    a += a_next;
    b += b_row;
  }
  const auto all = S::mask(S::kLanes);
  if (epilogue.accumulate || epilogue.bias || epilogue.relu) {
    PLIMSOLL_UNROLL
    for (int i = 0; i < Rows; ++i) {
      PLIMSOLL_UNROLL
      for (int j = 0; j < Vectors; ++j) {
        sum[i][j] = finish<T>(sum[i][j], c + i * c_row, j * S::kLanes,
                              j + 1 < Vectors ? all : last, epilogue);
      }
    }
  }
  PLIMSOLL_UNROLL
  for (int i = 0; i < Rows; ++i) {
    T* to = c + i * c_row;
    PLIMSOLL_UNROLL
    for (int j = 0; j + 1 < Vectors; ++j) {
      S::store(to + j * S::kLanes, sum[i][j]);
    }
    S::store(to + (Vectors - 1) * S::kLanes, sum[i][Vectors - 1], last);
  }
}

template <class T>
using MicroFn = void (*)(std::int64_t, const T*, std::int64_t, const T*,
                         std::int64_t, T*, std::int64_t, typename Simd<T>::Mask,
                         const Epilogue<T>&);

template <class T, bool Columns, int Vectors, int... Rows>
MicroFn<T> pick_rows(std::int64_t rows,
                     std::integer_sequence<int, Rows...> /*all*/) {
  static constexpr MicroFn<T> kTable[] = {
      micro<T, Columns, Rows + 1, Vectors>...};
  return kTable[rows - 1];
}

// The most rows a block `vectors` wide may have.
inline std::int64_t most_rows(std::int64_t vectors) {
  return vectors == 1 ? kNarrowRows : kMicroRows;
}

template <class T, bool Columns>
MicroFn<T> micro_for(std::int64_t rows, std::int64_t vectors) {
  constexpr auto kRows = std::make_integer_sequence<int, kMicroRows>();
  if (vectors == 1) {
    return pick_rows<T, Columns, 1>(
        rows, std::make_integer_sequence<int, kNarrowRows>());
  }
  if constexpr (kMicroVectors<T> == 4) {
    if (vectors == 4) return pick_rows<T, Columns, 4>(rows, kRows);
    if (vectors == 3) return pick_rows<T, Columns, 3>(rows, kRows);
  }
  return pick_rows<T, Columns, 2>(rows, kRows);
}

}  // namespace
}  // namespace plimsoll::ops
