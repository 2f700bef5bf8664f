// Tiles of scores in shared memory, as text for attention's functions.
#pragma once

#include <string>

#include "graph/kernel_catalog.h"
#include "ops/attention/attention_shape.h"

namespace plimsoll::ops {

// Queries and keys of a tile; also the columns of a result that its threads
// have at once.
std::int64_t attention_tile(DType compute);

// The widest head whose results fit into registers.
inline constexpr std::int64_t kMostCudaWidth = 256;

// Types, constants, and the struct Tile: see attention_tiles_cuda.cpp.
std::string attention_tiles_text(const AttentionShape& shape, DType dtype);

}  // namespace plimsoll::ops
