// How a reduction at a fixed shape is cut: decided by the shape alone, so the
// bits of a result do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "base/shape.h"

namespace plimsoll::ops {

struct Extent {
  std::int64_t size = 1;
  std::int64_t stride = 0;  // in elements of the input
};

// Axes that lie side by side and share their fate are merged. What remains is
// a nest whose two innermost loops are (reduce, inner).
struct ReductionSplit {
  std::vector<Extent> kept;     // outer kept groups, outermost first
  std::vector<Extent> reduced;  // reduced groups above the innermost one
  std::int64_t outer = 1;       // product of `kept`
  std::int64_t repeats = 1;     // product of `reduced`
  std::int64_t reduce = 1;      // extent of the innermost reduced group
  std::int64_t inner = 1;       // contiguous results; 1: rows are summed
  std::int64_t parts = 1;       // pieces of `reduce`, summed apart
  std::int64_t tile = 1;        // results a task makes side by side

  std::int64_t tiles() const { return (inner + tile - 1) / tile; }
  std::int64_t tasks() const { return outer * tiles() * parts; }
  std::int64_t part_size() const { return (reduce + parts - 1) / parts; }
  std::int64_t count() const { return repeats * reduce; }
  // Partial results, in double.
  std::int64_t scratch_bytes() const;
};

// Wide enough that rows are read in long runs, small enough for the L1 cache.
inline constexpr std::int64_t kReductionTile = 2048;

ReductionSplit split_reduction(const Shape& shape,
                               const std::vector<int>& axes);

// Where the `index`-th combination of `groups` lies.
std::int64_t offset_of(const std::vector<Extent>& groups, std::int64_t index);

}  // namespace plimsoll::ops
