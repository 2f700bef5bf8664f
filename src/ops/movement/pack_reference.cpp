#include <algorithm>

#include "graph/layout.h"
#include "ops/movement/moves_reference.h"

namespace plimsoll::ops {
namespace {

using Numbers = std::vector<std::int64_t>;

// Where the element at these indices lies.
std::size_t packed_place(const graph::Layout& layout, Numbers at) {
  std::int64_t inner = 0;
  std::int64_t size = 1;
  for (std::size_t i = layout.block_axes.size(); i-- > 0;) {
    std::int64_t& index = at[static_cast<std::size_t>(layout.block_axes[i])];
    inner += index % layout.block_sizes[i] * size;
    index /= layout.block_sizes[i];
    size *= layout.block_sizes[i];
  }
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    inner += at[axis] * layout.strides[axis];
  }
  return static_cast<std::size_t>(inner);
}

// Calls visit(row-major place, packed place).
template <class F>
void for_places(const graph::Layout& layout, const F& visit) {
  std::int64_t count = 1;
  for (const std::int64_t extent : layout.extents) count *= extent;
  for (std::int64_t i = 0; i < count; ++i) {
    Numbers at(layout.extents.size());
    std::int64_t rest = i;
    for (std::size_t axis = at.size(); axis-- > 0;) {
      at[axis] = rest % layout.extents[axis];
      rest /= layout.extents[axis];
    }
    visit(static_cast<std::size_t>(i), packed_place(layout, std::move(at)));
  }
}

}  // namespace

void pack_values(const std::vector<RefTensor>& inputs,
                 const graph::Attrs& attrs, std::vector<RefTensor>& outputs) {
  auto& to = outputs[0].values;
  std::fill(to.begin(), to.end(), 0.0);
  for_places(graph::layout_of(attrs),
             [&](std::size_t place, std::size_t packed) {
               to[packed] = inputs[0].values[place];
             });
}

void unpack_values(const std::vector<RefTensor>& inputs,
                   const graph::Attrs& attrs, std::vector<RefTensor>& outputs) {
  for_places(graph::layout_of(attrs),
             [&](std::size_t place, std::size_t packed) {
               outputs[0].values[place] = inputs[0].values[packed];
             });
}

}  // namespace plimsoll::ops
