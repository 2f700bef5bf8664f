// Packing as transpositions: most layouts put an axis innermost that lies in
// strides, and one of stride 1 around it. Such tiles need no table of places.
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
// row + column * column_stride packed.
struct PackTiles {
  std::int64_t rows = 1;
  std::int64_t row_stride = 0;
  std::int64_t columns = 1;
  std::int64_t column_stride = 0;

  // The digits around a tile, outermost first.
  struct Around {
    std::int64_t count = 1;
    std::int64_t stride = 0;  // row-major
    std::int64_t packed = 0;
  };
  std::vector<Around> around;
  std::int64_t tiles = 1;
};
// Nothing for padded plans, and those without such a pair of axes.
std::optional<PackTiles> pack_tiles(const PackPlan& plan);

// Calls run(row-major place, packed place) for tiles [begin, end).
template <class F>
void for_tiles(const PackTiles& all, std::int64_t begin, std::int64_t end,
               const F& run) {
  for (std::int64_t tile = begin; tile < end; ++tile) {
    std::int64_t number = tile;
    std::int64_t place = 0;
    std::int64_t packed = 0;
    for (std::size_t i = all.around.size(); i-- > 0;) {
      const std::int64_t digit = number % all.around[i].count;
      number /= all.around[i].count;
      place += digit * all.around[i].stride;
      packed += digit * all.around[i].packed;
    }
    run(place, packed);
  }
}

}  // namespace plimsoll::ops
