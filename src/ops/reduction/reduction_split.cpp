#include "ops/reduction/reduction_split.h"

#include <algorithm>

namespace plimsoll::ops {
namespace {

// Enough work that a second thread pays for itself.
constexpr std::int64_t kPartElements = 32768;
constexpr std::int64_t kMostParts = 32;
// As many independent tasks keep every thread busy without cutting `reduce`.
constexpr std::int64_t kEnoughTasks = 16;

struct Group {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  bool reduced = false;
};

std::vector<Group> merged_groups(const Shape& shape,
                                 const std::vector<int>& axes) {
  std::vector<Group> groups;
  const auto strides = row_major_strides(shape);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape.extent(axis) == 1) continue;
    const bool reduced = std::binary_search(axes.begin(), axes.end(), axis);
    const std::int64_t stride = strides[static_cast<std::size_t>(axis)];
    if (!groups.empty() && groups.back().reduced == reduced) {
      groups.back().size *= shape.extent(axis);
      groups.back().stride = stride;
    } else {
      groups.push_back({shape.extent(axis), stride, reduced});
    }
  }
  return groups;
}

}  // namespace

std::int64_t ReductionSplit::scratch_bytes() const {
  return parts == 1 ? 0 : parts * outer * inner * std::int64_t{sizeof(double)};
}

ReductionSplit split_reduction(const Shape& shape,
                               const std::vector<int>& axes) {
  ReductionSplit split;
  std::vector<Group> groups = merged_groups(shape, axes);
  if (!groups.empty() && !groups.back().reduced) {
    split.inner = groups.back().size;
    groups.pop_back();
  }
  if (!groups.empty() && groups.back().reduced) {
    split.reduce = groups.back().size;
    groups.pop_back();
  }
  for (const Group& group : groups) {
    (group.reduced ? split.reduced : split.kept)
        .push_back({group.size, group.stride});
    (group.reduced ? split.repeats : split.outer) *= group.size;
  }
  split.tile = std::clamp<std::int64_t>(split.inner, 1, kReductionTile);
  if (split.outer * split.tiles() < kEnoughTasks) {
    split.parts = std::clamp<std::int64_t>(
        split.reduce * split.tile / kPartElements, 1, kMostParts);
  }
  return split;
}

std::int64_t offset_of(const std::vector<Extent>& groups, std::int64_t index) {
  std::int64_t offset = 0;
  for (std::size_t i = groups.size(); i-- > 0;) {
    offset += index % groups[i].size * groups[i].stride;
    index /= groups[i].size;
  }
  return offset;
}

}  // namespace plimsoll::ops
