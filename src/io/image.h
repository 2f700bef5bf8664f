// JPEG and PNG images in memory, decoded into the caller's memory with the
// caller's scratch: nothing is allocated but the text of an error and, once a
// thread, the few KiB of libjpeg's own state. Files are hostile: sizes are
// known from the header and checked before anything is decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace plimsoll::io {

enum class ImageFormat { jpeg, png };

inline constexpr int kMostImageSide = 1'000'000;  // pixels

// What the planes of a JPEG hold, the second being as large as the third; none:
// they cannot be read one by one.
enum class Planes { none, grey, ycbcr, rgb };

struct ImageInfo {
  ImageFormat format = ImageFormat::jpeg;
  int width = 0;
  int height = 0;
  int channels = 0;  // as stored; a palette's colours, CMYK as RGB
  // What decode_image() needs, whatever is asked of it.
  std::int64_t scratch_bytes = 0;
  Planes planes = Planes::none;
  std::int64_t plane_scratch_bytes = 0;  // of JpegPlanes
};

// From the header alone.
Result<ImageInfo> image_info(std::span<const std::byte> bytes);

struct ImageSize {
  int width = 0;
  int height = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// How the cosine transform of JPEGs is computed.
enum class Dct {
  exact,  // the integers nearest to it
  fast,   // a few levels apart in files of high quality
};

struct DecodeOptions {
  int channels = 0;  // 1, 3, 4, or 0: as stored
  // JPEGs are decoded at the smallest of 1/8, 2/8 ... 8/8 of their size that
  // is at least this in both directions; 0 by 0: at their own size. Much
  // cheaper than decoding everything and making it smaller afterwards.
  ImageSize at_least = {};
  Dct dct = Dct::exact;
};

struct DecodedImage {
  ImageSize size;
  int channels = 0;
  int eighths = 8;  // of its own size
  Dct dct = Dct::exact;
  std::int64_t bytes() const {
    return std::int64_t{size.width} * size.height * channels;
  }
};

// What decode_image() would make of such an image.
DecodedImage decoded_as(const ImageInfo& info, const DecodeOptions& options);

// Writes u8 in the order rows, columns, channels to the beginning of `out`.
Result<DecodedImage> decode_image(std::span<const std::byte> bytes,
                                  const DecodeOptions& options,
                                  std::span<std::byte> out,
                                  std::span<std::byte> scratch);

// Scratch for any image up to this size in up to three colours, transparency
// not counted for JPEG, which has none. Progressive JPEGs hold the whole image
// as coefficients while it is decoded: 6 bytes a pixel.
std::int64_t most_scratch_bytes(ImageSize largest, bool progressive);
// The same of JpegPlanes.
std::int64_t most_plane_scratch_bytes(ImageSize largest, bool progressive);

}  // namespace plimsoll::io
