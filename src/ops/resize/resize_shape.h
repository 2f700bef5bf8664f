// A resize at fixed shapes, as kernels see it: always from the images to the
// result, also when its gradient goes back.
#pragma once

#include <string>

#include "graph/kernel_catalog.h"
#include "ops/resize/resize_taps.h"

namespace plimsoll::ops {

struct ResizeShape {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  ResizeAxis rows;
  ResizeAxis columns;
};

inline ResizeShape resize_shape(const Shape& images, const Shape& result,
                                const graph::Attrs& attrs) {
  const bool nearest = attrs.get<std::string>("method") == "nearest";
  return {images.extent(0),
          images.extent(3),
          {images.extent(1), result.extent(1), nearest},
          {images.extent(2), result.extent(2), nearest}};
}

}  // namespace plimsoll::ops
