// Compressed images to pixels.
#pragma once

#include <memory>

#include "data/map.h"
#include "data/maps/one_field.h"
#include "io/image.h"

namespace plimsoll::data {

// A field of u8 that holds the bytes of a JPEG or PNG file becomes u8
// [height, width, channels].
struct DecodeImageOptions {
  FieldChoice field = {};
  int channels = 3;             // 1, 3, 4, or 0: as stored
  io::ImageSize largest = {};   // of the files: memory is planned by it
  io::ImageSize at_least = {};  // see io::DecodeOptions
  bool progressive = true;      // false: no memory for progressive JPEGs
};
std::unique_ptr<Map> decode_image(DecodeImageOptions options);

}  // namespace plimsoll::data
