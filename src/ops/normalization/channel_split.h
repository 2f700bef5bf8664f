// How [segments, rows, channels] is cut for sums down the rows: by the shape
// alone. Few segments are cut into parts of rows, whose sums are joined; of
// many, each task makes some, one after the other.
#pragma once

#include <algorithm>

#include "ops/normalization/norm_form.h"

namespace plimsoll::ops {

struct ChannelSplit {
  NormShape shape;
  std::int64_t parts = 1;   // of a segment
  std::int64_t owners = 1;  // with sums of whole segments: segments, or tasks

  bool whole_segments() const { return parts == 1; }
  std::int64_t slots() const { return owners * parts; }  // of sums
  std::int64_t first_segment(std::int64_t owner) const {
    return shape.segments * owner / owners;
  }
  std::int64_t first_row(std::int64_t part) const {  // in its segment
    return shape.rows * part / parts;
  }
  std::int64_t part_rows(std::int64_t part) const {
    return first_row(part + 1) - first_row(part);
  }
  // Of a segment's first element.
  std::int64_t offset(std::int64_t segment, std::int64_t part) const {
    return (segment * shape.rows + first_row(part)) * shape.channels;
  }
};

inline ChannelSplit split_channels(const NormShape& shape, std::int64_t most,
                                   std::int64_t part_elements) {
  ChannelSplit split;
  split.shape = shape;
  const std::int64_t wanted =
      std::clamp<std::int64_t>(shape.elements() / part_elements, 1, most);
  const std::int64_t segments = std::max<std::int64_t>(1, shape.segments);
  split.parts = std::clamp<std::int64_t>(wanted / segments, 1,
                                         std::max<std::int64_t>(1, shape.rows));
  split.owners = split.parts > 1 ? segments : std::min(wanted, segments);
  return split;
}

}  // namespace plimsoll::ops
