// A product at fixed shapes, as kernels see it: sizes and strides.
#pragma once

#include <cstdint>
#include <span>

#include "graph/op_def.h"

namespace plimsoll::ops {

struct ProductShape {
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  // In elements; a stride of 0 over the batch: the operand serves all.
  std::int64_t a_batch = 0;
  std::int64_t a_row = 0;
  std::int64_t a_col = 0;
  std::int64_t b_batch = 0;
  std::int64_t b_row = 0;
  std::int64_t b_col = 0;
  bool bias = false;
  bool relu = false;

  double flops() const {
    return 2.0 * static_cast<double>(batch) * static_cast<double>(m) *
           static_cast<double>(n) * static_cast<double>(k);
  }
  friend bool operator==(const ProductShape&, const ProductShape&) = default;
};

// Leading dimensions of `a` become rows where `b` has none and `a` is not
// transposed: one product instead of a batch.
ProductShape product_shape(std::span<const graph::TensorType> inputs,
                           std::span<const graph::TensorType> outputs,
                           const graph::Attrs& attrs);

}  // namespace plimsoll::ops
