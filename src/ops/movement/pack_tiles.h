// Packing as tiles, which need no table of places: most layouts put an axis
// innermost that lies in strides, and one of stride 1 around it, which is a
// transposition; others have the axis of stride 1 innermost and are runs.
#pragma once

#include <optional>

#include "ops/movement/pack.h"

namespace plimsoll::ops {

// Elements that lie together on both sides, moved as one word of at most 8
// bytes: a plan of those, and how many bytes each has.
struct WordPlan {
  PackPlan plan;
  std::int64_t bytes = 1;
};
WordPlan in_words(PackPlan plan, std::int64_t element_bytes);

// Word (row, column) of a tile: row * row_stride + column in row-major memory,
// row * packed_row + column * packed_column packed. One of these two is 1.
struct PackTiles {
  std::int64_t rows = 1;
  std::int64_t row_stride = 0;
  std::int64_t columns = 1;
  std::int64_t packed_row = 1;
  std::int64_t packed_column = 1;

  // The digits around a tile, outermost first.
  struct Around {
    std::int64_t count = 1;
    std::int64_t stride = 0;  // row-major
    std::int64_t packed = 0;
    std::size_t axis = 0;
    std::int64_t step = 1;
  };
  std::vector<Around> around;
  std::int64_t tiles = 1;

  // An axis that is padded: how many words it has, and how far the rows and
  // columns of a tile go along it with each step, 0 for not at all.
  struct Padded {
    std::size_t axis = 0;
    std::int64_t extent = 0;
    std::int64_t row_step = 0;
    std::int64_t column_step = 0;
  };
  std::vector<Padded> padded;
};
// Nothing for plans without an axis of stride 1, or with rows and columns on
// one axis that is padded.
std::optional<PackTiles> pack_tiles(const PackPlan& plan);

// One tile: where it begins, and how much of it is no padding.
struct PackTile {
  std::int64_t place = 0;  // row-major
  std::int64_t packed = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};
PackTile tile_at(const PackTiles& all, std::int64_t index);

}  // namespace plimsoll::ops
