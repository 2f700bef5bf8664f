// The distinct rows that a batch's indices name, each with the sum of its
// gradients, in stages: keys are sorted in tiles, tiles are merged two by two,
// long runs of one row are summed in pieces, and a last stage uses the sums.
// Scratch and order follow from the number of indices alone.
#pragma once

#include <string>

#include "ops/cuda_text.h"
#include "ops/embedding/row_keys.h"

namespace plimsoll::ops {

struct CudaSummedRows {
  int dy = 0;  // which inputs these are
  int indices = 0;
  RowKeys keys;
  std::int64_t width = 0;   // elements of a row
  std::int64_t planes = 1;  // of dy and of the table, for the same indices
  bool from_end = false;    // negative indices count from the end
  // Done by all blocks before the sorting: copies, zeros.
  std::string before;
  graph::Cost before_cost;
  std::int64_t before_blocks = 1;
  // Once a thread of the last stage; then for each piece of a distinct row, of
  // as many elements as go at once: they begin at `at` of the table, and have
  // the sums C sum[].
  std::string prepare;
  std::string use;
};

// Types are those of dy; the name is the op's with what decides rounding.
cuda::OpCode cuda_summed_rows(const graph::KernelQuery& query,
                              const CudaSummedRows& how);

}  // namespace plimsoll::ops
