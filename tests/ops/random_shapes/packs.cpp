#include "ops/random_shapes/draws.h"
#include "ops/random_shapes/random_records.h"
#include "ops/records/makers.h"

namespace plimsoll::ops::testing {
namespace {

// Axes in any order, blocks of some of them innermost, whole blocks one after
// the other.
graph::Layout layout_of(Draws& draw, const std::vector<std::int64_t>& extents) {
  graph::Layout layout;
  layout.extents = extents;
  std::vector<std::int64_t> blocks(extents.size(), 1);
  std::int64_t block = 1;
  for (std::int64_t left = draw.between(0, 3); left > 0; --left) {
    const std::int64_t axis = draw.between(0, std::ssize(extents) - 1);
    const std::int64_t size =
        draw.one_of<std::int64_t>({1, 2, 2, 3, 4, 4, 8, 16, 32, 64});
    if (block * size > 2'000) continue;
    block *= size;
    blocks[static_cast<std::size_t>(axis)] *= size;
    layout.block_axes.push_back(axis);
    layout.block_sizes.push_back(size);
  }
  std::vector<std::size_t> order(extents.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), draw.engine());
  layout.strides.resize(extents.size());
  std::int64_t stride = block;
  for (const std::size_t axis : order) {
    layout.strides[axis] = stride;
    stride *= (extents[axis] + blocks[axis] - 1) / blocks[axis];
  }
  return layout;
}

}  // namespace

std::vector<OpRecord> random_packs(std::uint64_t seed, int count) {
  Draws draw(seed);
  std::vector<OpRecord> records;
  for (int made = 0; made < count;) {
    const std::int64_t most = draw.some_or(20'000, 200'000);
    auto extents = draw.extents(static_cast<int>(draw.between(1, 5)), most);
    for (std::int64_t& extent : extents) {
      extent = std::max<std::int64_t>(1, extent);
    }
    const graph::Layout layout = layout_of(draw, extents);
    if (layout.elements() > 3 * most || !graph::digits_of(layout)) {
      continue;
    }
    add_packed(records, draw.name(made++), to_shape(extents), layout,
               draw.one_of({DType::f32, DType::bf16, DType::u8, DType::i64}));
  }
  return records;
}

}  // namespace plimsoll::ops::testing
