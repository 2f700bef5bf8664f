// The rows of linear_cross_entropy in chunks, whose logits are all that is ever
// held. From shapes alone: chunks decide how the weight's gradient rounds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "graph/op_def.h"

namespace plimsoll::ops {

struct LinearChunks {
  std::int64_t rows = 0;     // examples
  std::int64_t width = 0;    // of an example
  std::int64_t classes = 0;  // of a row of logits
  bool transposed = false;   // the weight is [classes, width]
  std::int64_t most = 0;     // rows of a chunk; the last may have fewer

  static LinearChunks of(const graph::TensorType& x,
                         const graph::TensorType& weight,
                         const graph::Attrs& attrs) {
    constexpr std::int64_t kLeastBytes = 8 << 20;
    constexpr std::int64_t kParts = 16;
    constexpr std::int64_t kRound = 64;
    LinearChunks chunks;
    chunks.width = x.shape.extent(-1);
    chunks.rows = x.shape.elements() / std::max<std::int64_t>(chunks.width, 1);
    chunks.transposed = attrs.get<bool>("transposed");
    chunks.classes = weight.shape.extent(chunks.transposed ? 0 : 1);
    const std::int64_t bytes = size_of(x.dtype);
    const std::int64_t row_bytes =
        chunks.classes * size_of(wide_dtype(x.dtype));
    std::int64_t most = std::max(
        {kLeastBytes / row_bytes, chunks.rows / kParts, std::int64_t{1}});
    // Chunks of x begin on whole cache lines, and go well with tiles.
    std::int64_t step = 1;
    while (step * chunks.width * bytes % 64 != 0) step *= 2;
    if (most > kRound) step = kRound;
    most = std::max(most / step * step, step);
    chunks.most = std::min(most, chunks.rows);
    return chunks;
  }

  std::int64_t count() const {
    return most == 0 ? 0 : (rows + most - 1) / most;
  }
  std::int64_t rows_of(std::int64_t chunk) const {
    return std::min(most, rows - chunk * most);
  }
};

}  // namespace plimsoll::ops
