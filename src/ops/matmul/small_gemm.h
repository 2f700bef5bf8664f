// Our own product kernels, one table per instruction set: for f64, which the
// library lacks, and for products so small that a library call costs more
// than the arithmetic. Results do not depend on how the work is split: every
// element of C is summed over k in one fixed order.
#pragma once

#include <cstdint>

#include "ops/isa.h"

namespace plimsoll::ops {

// C[m, n] = A[m, k] B[k, n] (+ bias[n]) (relu). Strides in elements; rows of
// B and C are contiguous, and so are the rows or the columns of A.
template <class T>
struct GemmArgs {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const T* a = nullptr;
  std::int64_t a_row = 0;  // from A[i, p] to A[i + 1, p]
  std::int64_t a_col = 0;  // from A[i, p] to A[i, p + 1]
  const T* b = nullptr;
  std::int64_t b_row = 0;
  T* c = nullptr;
  std::int64_t c_row = 0;
  const T* bias = nullptr;  // null: none
  bool one_bias = false;    // bias[0] for every element
  bool relu = false;
  bool accumulate = false;  // C already holds the sum over an earlier part of k
};

template <class T>
struct GemmTable {
  // Straight from the operands, blocked over k for the cache.
  void (*direct)(const GemmArgs<T>& args);
  // C[i] = sum_k A[i, k] b[k] (+ bias[i]) (relu): n is 1, A's rows and the
  // vector b are contiguous, elements of C are c_row apart.
  void (*rows_dot)(const GemmArgs<T>& args);
  // Packs A[m, k] into panels of `micro_rows` rows, element (i, p) of a panel
  // at p * micro_rows + i, padded with zeros.
  void (*pack_a)(const T* a, std::int64_t a_row, std::int64_t a_col,
                 std::int64_t m, std::int64_t k, T* to);
  // Packs B[k, n] into panels of `micro_columns` columns, padded with zeros.
  void (*pack_b)(const T* b, std::int64_t b_row, std::int64_t b_col,
                 std::int64_t k, std::int64_t n, T* to);
  // As `direct` from packed operands; a, b are what the packers wrote.
  void (*packed)(const GemmArgs<T>& args);
  std::int64_t lanes = 0;
  std::int64_t micro_rows = 0;
  std::int64_t micro_columns = 0;
};

struct GemmTables {
  GemmTable<float> f32;
  GemmTable<double> f64;
};

PLIMSOLL_DECLARE_ISA_TABLE(const GemmTables&, gemm_tables)

template <class T>
const GemmTable<T>& gemm_table();
template <>
inline const GemmTable<float>& gemm_table<float>() {
  return pick_gemm_tables().f32;
}
template <>
inline const GemmTable<double>& gemm_table<double>() {
  return pick_gemm_tables().f64;
}

}  // namespace plimsoll::ops
