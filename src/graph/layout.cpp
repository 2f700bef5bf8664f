#include "graph/layout.h"

#include <algorithm>
#include <numeric>

namespace plimsoll::graph {
namespace {

using Numbers = std::vector<std::int64_t>;

Error bad(const char* why) {
  return {ErrorCode::bad_input, std::string("layout: ") + why};
}

// Elements of an axis in one block.
Numbers block_extents(const Layout& layout) {
  Numbers sizes(layout.extents.size(), 1);
  for (std::size_t i = 0; i < layout.block_axes.size(); ++i) {
    sizes[static_cast<std::size_t>(layout.block_axes[i])] *=
        layout.block_sizes[i];
  }
  return sizes;
}

Status check_numbers(const Layout& layout) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const auto is_size = [](std::int64_t size) {
    return size >= 1 && size <= kMost;
  };
  const std::size_t rank = layout.extents.size();
  if (layout.strides.size() != rank ||
      layout.block_axes.size() != layout.block_sizes.size()) {
    return bad("one stride an axis and one size a block");
  }
  for (const Numbers* sizes :
       {&layout.extents, &layout.strides, &layout.block_sizes}) {
    if (!std::all_of(sizes->begin(), sizes->end(), is_size)) {
      return bad("extents, strides and blocks are 1 to 2^40");
    }
  }
  for (const std::int64_t axis : layout.block_axes) {
    if (axis < 0 || static_cast<std::size_t>(axis) >= rank) {
      return bad("a block of no axis");
    }
  }
  return {};
}

}  // namespace

std::int64_t Layout::elements() const {
  const Numbers blocks = block_extents(*this);
  std::int64_t all = 1;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    all *= (extents[i] + blocks[i] - 1) / blocks[i] * blocks[i];
  }
  return all;
}

Result<std::vector<LayoutDigit>> digits_of(const Layout& layout) {
  PLIMSOLL_RETURN_IF_ERROR(check_numbers(layout));
  Numbers left = block_extents(layout);
  std::vector<int> axes(layout.extents.size());
  std::iota(axes.begin(), axes.end(), 0);
  const auto stride = [&](int axis) {
    return layout.strides[static_cast<std::size_t>(axis)];
  };
  std::stable_sort(axes.begin(), axes.end(),
                   [&](int a, int b) { return stride(a) > stride(b); });
  std::vector<LayoutDigit> digits;
  for (const int axis : axes) {
    const auto at = static_cast<std::size_t>(axis);
    const std::int64_t count = (layout.extents[at] + left[at] - 1) / left[at];
    if (count > 1) digits.push_back({axis, count, left[at]});
  }
  const std::size_t outer = digits.size();
  for (std::size_t i = 0; i < layout.block_axes.size(); ++i) {
    const auto at = static_cast<std::size_t>(layout.block_axes[i]);
    left[at] /= layout.block_sizes[i];
    digits.push_back({static_cast<int>(at), layout.block_sizes[i], left[at]});
  }
  std::int64_t place = 1;
  for (std::size_t i = digits.size(); i-- > 0;) {
    if (i < outer && stride(digits[i].axis) != place) {
      return bad("its blocks do not lie one after the other");
    }
    place *= digits[i].count;
  }
  return digits;
}

Attrs attrs_of(const Layout& layout) {
  return {{"extents", layout.extents},
          {"strides", layout.strides},
          {"block_axes", layout.block_axes},
          {"block_sizes", layout.block_sizes}};
}

Layout layout_of(const Attrs& attrs) {
  return {attrs.get<Numbers>("extents"), attrs.get<Numbers>("strides"),
          attrs.get<Numbers>("block_axes"), attrs.get<Numbers>("block_sizes")};
}

}  // namespace plimsoll::graph
