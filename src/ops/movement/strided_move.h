// Ops that only move elements, at fixed shapes, as kernels see them: boxes of
// bytes that are copied from an input, or filled with one value.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/kernel_catalog.h"

namespace plimsoll::ops {

// Everything in bytes.
struct MoveAxis {
  std::int64_t extent = 1;
  std::int64_t from = 0;  // from one to the next in the input
  std::int64_t to = 0;    // and in the output
};

struct StridedMove {
  int input = 0;  // kFill: nothing is read
  int output = 0;
  std::int64_t from = 0;  // the first byte
  std::int64_t to = 0;
  std::vector<MoveAxis> axes;  // outermost first
  std::int64_t run = 0;        // bytes side by side in input and output

  static constexpr int kFill = -1;
  std::int64_t runs() const;
  std::int64_t bytes() const { return runs() * run; }
};

// What an op does: boxes that do not overlap and make all of its outputs.
struct Moves {
  std::vector<StridedMove> boxes;  // none of them empty, each simplified
  std::uint64_t fill_bits = 0;     // one element
  std::int64_t element_bytes = 1;

  std::int64_t bytes() const;
  // The shortest run, which decides how fast bytes go.
  std::int64_t shortest_run() const;
  // Adds a box unless it is empty.
  void add(StridedMove box);
};

// Without axes of extent 1, with axes merged that are crossed as one, and
// contiguous ones made part of the run. At least one axis remains.
StridedMove simplified(StridedMove move);

// Most bytes, up to 16, of which the whole box is made.
std::int64_t unit_bytes(const StridedMove& move);

Moves concat_moves(const graph::KernelQuery& query);
Moves split_moves(const graph::KernelQuery& query);
Moves slice_moves(const graph::KernelQuery& query);
Moves pad_moves(const graph::KernelQuery& query);
Moves expand_moves(const graph::KernelQuery& query);

}  // namespace plimsoll::ops
