// How one of our own products runs: a value made from sizes alone.
#pragma once

#include <cstdint>

#include "ops/matmul/product_shape.h"

namespace plimsoll::ops {

enum class OwnMode { direct, dot, packed };

struct OwnPlan {
  OwnMode mode = OwnMode::direct;
  ProductShape shape;     // as the kernel sees it, perhaps transposed
  bool swapped = false;   // computes C^T = B^T A^T: a and b change places
  bool one_bias = false;  // bias[0] for every element
  // The grid of tiles; `batches` groups of products side by side.
  std::int64_t row_tiles = 1;
  std::int64_t column_tiles = 1;
  std::int64_t batch_tiles = 1;
  std::int64_t scratch_bytes = 0;
  double seconds = 0;

  std::int64_t tiles() const { return row_tiles * column_tiles * batch_tiles; }
};

// Sizes of blocks, in elements, of the packed mode.
inline constexpr std::int64_t kPackedDepth = 128;
inline constexpr std::int64_t kPackedRows = 240;
inline constexpr std::int64_t kPackedColumns = 2048;

// Lanes and block sizes come from the instruction set's table.
struct OwnMachine {
  std::int64_t element_bytes = 4;
  std::int64_t lanes = 16;
  std::int64_t micro_rows = 6;
  std::int64_t micro_columns = 64;
  double flops_per_second = 0;  // of one core, by a wide block
  bool packed_only = false;     // operands are converted where they are packed
};

OwnPlan plan_own_product(const ProductShape& shape, const OwnMachine& machine,
                         int threads);

// Part `index` of `parts` of `total`, cut at multiples of `step`.
struct Span {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};
Span part_of(std::int64_t total, std::int64_t step, std::int64_t parts,
             std::int64_t index);

}  // namespace plimsoll::ops
