// How a tensor's elements lie where a kernel wants them packed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "graph/attrs.h"

namespace plimsoll::graph {

struct Layout {
  // Row-major extents: the tensor's own, or some of them split. None at all:
  // the tensor lies row-major.
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;  // in elements, from block to block
  // Inside a block, outermost first. Axes are padded to whole blocks by zeros.
  std::vector<std::int64_t> block_axes;
  std::vector<std::int64_t> block_sizes;

  bool is_packed() const { return !extents.empty(); }
  std::int64_t elements() const;  // padding included
  friend bool operator==(const Layout&, const Layout&) = default;
};

// One digit of an element's place in packed memory, outermost first.
struct LayoutDigit {
  int axis = 0;
  std::int64_t count = 1;
  std::int64_t step = 1;  // along the axis
};

// The digits; an error where a layout has gaps or holds an element twice.
Result<std::vector<LayoutDigit>> digits_of(const Layout& layout);

// As attributes of an instruction that packs or unpacks, and back.
Attrs attrs_of(const Layout& layout);
Layout layout_of(const Attrs& attrs);

}  // namespace plimsoll::graph
