// How the operands of one element-wise node lie over its outputs, and how the
// outputs are cut into blocks whose intermediate results stay in L1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/op_def.h"

namespace plimsoll::ops {

// Elements of a block, and so of a slot of scratch.
inline constexpr std::int64_t kBlockElements = 1024;

enum class Access : std::uint8_t {
  dense,     // read in place, element i for output i
  periodic,  // read in place, element i % period: a row longer than a block
  scalar,    // one element: a slot filled once
  tiled,     // a short row: a slot filled once with repetitions
  expanded,  // anything else: a slot filled for every block
};

struct InputAccess {
  Access access = Access::dense;
  std::int64_t period = 1;            // periodic and tiled
  std::vector<std::int64_t> strides;  // expanded: over the domain's extents
};

struct Domain {
  std::int64_t elements = 0;
  // Outputs after merging dimensions that every input crosses alike.
  std::vector<std::int64_t> extents;
  std::vector<InputAccess> inputs;

  // Blocks never cross a row, so that periodic inputs are read in place.
  std::int64_t row = 0;
  std::int64_t blocks_per_row = 0;
  std::int64_t block = 0;  // elements of a block, a multiple of all tiles
  std::int64_t blocks() const { return elements / row * blocks_per_row; }
};

inline constexpr int kMostExtents = 16;

// Shapes are fixed, not empty, and broadcast to `output`; nothing comes back
// when more than kMostExtents dimensions are left after merging.
std::optional<Domain> find_domain(std::span<const graph::TensorType> inputs,
                                  const Shape& output);

// Fills out[0, count) with the input's elements for outputs from `start` on.
void expand_f32(const Domain& domain, const InputAccess& input, const void* in,
                void* out, std::int64_t start, std::int64_t count);
void expand_f64(const Domain& domain, const InputAccess& input, const void* in,
                void* out, std::int64_t start, std::int64_t count);
void expand_u16(const Domain& domain, const InputAccess& input, const void* in,
                void* out, std::int64_t start, std::int64_t count);

}  // namespace plimsoll::ops
