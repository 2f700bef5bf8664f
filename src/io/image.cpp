#include "io/image.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "io/jpeg.h"
#include "io/png_image.h"

namespace plimsoll::io {
namespace {

Error bad(std::string message) {
  return {ErrorCode::bad_input, std::move(message)};
}

bool begins_with(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() &&
         std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

Result<ImageInfo> header_of(std::span<const std::byte> bytes) {
  if (begins_with(bytes, "\xff\xd8\xff")) return jpeg_info(bytes);
  if (begins_with(bytes, "\x89PNG\r\n\x1a\n")) return png_info(bytes);
  return bad(
      fmt::format("{} bytes that are neither JPEG nor PNG", bytes.size()));
}

}  // namespace

Result<ImageInfo> image_info(std::span<const std::byte> bytes) {
  PLIMSOLL_ASSIGN(const ImageInfo info, header_of(bytes));
  if (info.width > kMostImageSide || info.height > kMostImageSide) {
    return bad(
        fmt::format("an image of {} by {} pixels; at most {} a side are "
                    "decoded",
                    info.width, info.height, kMostImageSide));
  }
  return info;
}

DecodedImage decoded_as(const ImageInfo& info, const DecodeOptions& options) {
  DecodedImage image{{info.width, info.height},
                     options.channels == 0 ? info.channels : options.channels,
                     8,
                     options.dct};
  const auto [width, height] = options.at_least;
  if (info.format != ImageFormat::jpeg || (width <= 0 && height <= 0)) {
    return image;
  }
  for (int eighths = 1; eighths < 8; ++eighths) {
    const ImageSize scaled = scaled_jpeg_size(image.size, eighths);
    if (scaled.width < width || scaled.height < height) continue;
    image.size = scaled;
    image.eighths = eighths;
    break;
  }
  return image;
}

Result<DecodedImage> decode_image(std::span<const std::byte> bytes,
                                  const DecodeOptions& options,
                                  std::span<std::byte> out,
                                  std::span<std::byte> scratch) {
  const int wanted = options.channels;
  if (wanted != 0 && wanted != 1 && wanted != 3 && wanted != 4) {
    return bad(
        fmt::format("{} channels asked for; 1, 3, 4 or 0 (as stored) "
                    "can be had",
                    wanted));
  }
  PLIMSOLL_ASSIGN(const ImageInfo info, image_info(bytes));
  const DecodedImage image = decoded_as(info, options);
  if (image.bytes() > static_cast<std::int64_t>(out.size())) {
    return bad(fmt::format(
        "an image of {} by {} pixels in {} channels takes {} bytes; there is "
        "room for {}",
        image.size.width, image.size.height, image.channels, image.bytes(),
        out.size()));
  }
  if (info.scratch_bytes > static_cast<std::int64_t>(scratch.size())) {
    return bad(fmt::format(
        "decoding an image of {} by {} pixels takes {} bytes of scratch; "
        "there are {}",
        info.width, info.height, info.scratch_bytes, scratch.size()));
  }
  const auto pixels = out.first(static_cast<std::size_t>(image.bytes()));
  PLIMSOLL_RETURN_IF_ERROR(info.format == ImageFormat::jpeg
                               ? decode_jpeg(bytes, image, pixels, scratch)
                               : decode_png(bytes, image, pixels, scratch));
  return image;
}

std::int64_t most_scratch_bytes(ImageSize largest, bool progressive) {
  return std::max(most_jpeg_scratch_bytes(largest, progressive),
                  png_scratch_bytes(largest.width));
}

std::int64_t most_plane_scratch_bytes(ImageSize largest, bool progressive) {
  return most_jpeg_plane_scratch_bytes(largest, progressive);
}

}  // namespace plimsoll::io
