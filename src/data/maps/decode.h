// Compressed images to pixels.
#pragma once

#include <memory>

#include "data/map.h"
#include "data/maps/one_field.h"
#include "io/image.h"

namespace plimsoll::data {

// A field of u8 that holds the bytes of a JPEG or PNG file becomes u8
// [height, width, channels], or with `resize_to` f32 of 0 to 255 in that size.
struct DecodeImageOptions {
  FieldChoice field = {};
  int channels = 3;             // 1, 3, 4, or 0: as stored
  io::ImageSize largest = {};   // of the files: memory is planned by it
  io::ImageSize at_least = {};  // see io::DecodeOptions
  bool progressive = true;      // false: no memory for progressive JPEGs
  // Resized bilinearly, as resize() does it, while JPEGs are being decoded:
  // colours go straight from their own resolution to the new size. Faster than
  // decoding to pixels first, and the same up to their rounding where colours
  // are stored in full; at half the resolution about one of 255 levels apart
  // in the mean.
  io::ImageSize resize_to = {};
  // False: no memory for what resize_to has to decode whole first: PNGs and
  // JPEGs in CMYK.
  bool whole = true;
  io::Dct dct = io::Dct::exact;
};
std::unique_ptr<Map> decode_image(DecodeImageOptions options);

}  // namespace plimsoll::data
