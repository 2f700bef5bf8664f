// Images to another size.
#pragma once

#include <cstdint>
#include <memory>

#include "data/map.h"
#include "data/maps/one_field.h"

namespace plimsoll::data {

enum class ResizeMethod {
  bilinear,  // u8 or f32 to f32
  nearest,   // any dtype, kept
};

// [height, width] or [height, width, channels] with half-pixel centres and no
// smoothing: what tf.image.resize makes of it.
struct ResizeOptions {
  FieldChoice field = {};
  std::int64_t height = 0;
  std::int64_t width = 0;
  ResizeMethod method = ResizeMethod::bilinear;
};
std::unique_ptr<Map> resize(ResizeOptions options);

}  // namespace plimsoll::data
