// A gather or scatter_add at fixed shapes, as kernels see it.
#pragma once

#include <cstdint>

#include "graph/kernel_catalog.h"

namespace plimsoll::ops {

// The table is [outer, rows, inner], the other side [outer, indices, inner].
struct Gathered {
  std::int64_t outer = 1;
  std::int64_t rows = 0;
  std::int64_t indices = 0;
  std::int64_t inner = 1;  // elements
};
Gathered gathered(const graph::TensorType& table,
                  const graph::TensorType& indices, const graph::Attrs& attrs);

// Whether negative indices count from the end; else they lie outside.
bool counts_from_end(const graph::Attrs& attrs);

// An element of a row whose index lies outside.
std::uint64_t outside_bits(DType dtype, const graph::Attrs& attrs);

}  // namespace plimsoll::ops
