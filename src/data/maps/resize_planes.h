// An image whose planes come strip by strip, each at a size of its own, to
// pixels of another size: every plane is resized straight from its own samples
// and only the result is turned into RGB.
#pragma once

#include "base/result.h"
#include "io/image.h"
#include "io/jpeg_planes.h"

namespace plimsoll::data {

struct PlaneTarget {
  io::ImageSize size;
  int channels = 3;  // 1, 3 or 4; 1 takes the first plane as it is
};

// For planes up to so many samples wide.
std::int64_t plane_resize_bytes(int widest, const PlaneTarget& target);

// Writes f32 [height, width, channels] of 0 to 255, bilinear with half-pixel
// centres. `kind` is what `planes` hold; `scratch` is aligned to 64.
Status resize_planes(io::JpegPlanes& planes, io::Planes kind,
                     const PlaneTarget& target, std::byte* scratch, float* out);

}  // namespace plimsoll::data
