#include "ops/pooling/pool_shape.h"

#include <vector>

namespace plimsoll::ops {
namespace {

using Numbers = std::vector<std::int64_t>;

PoolAxis axis_at(std::int64_t from, std::int64_t to, const graph::Attrs& attrs,
                 std::size_t i) {
  return {from, to, attrs.get<Numbers>("window")[i],
          attrs.get<Numbers>("strides")[i],
          attrs.get<Numbers>("padding")[2 * i]};
}

}  // namespace

PoolShape pool_shape(const Shape& images, const Shape& result,
                     const graph::Attrs& attrs) {
  return {images.extent(0), images.extent(3),
          axis_at(images.extent(1), result.extent(1), attrs, 0),
          axis_at(images.extent(2), result.extent(2), attrs, 1)};
}

DType place_dtype(const graph::Attrs& attrs) {
  const auto window = attrs.get<Numbers>("window");
  return window[0] * window[1] <= 256 ? DType::u8 : DType::i32;
}

}  // namespace plimsoll::ops
