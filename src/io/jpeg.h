// JPEG through libjpeg-turbo. image.h is the way in: it has checked the sizes.
#pragma once

#include "io/image.h"

namespace plimsoll::io {

Result<ImageInfo> jpeg_info(std::span<const std::byte> bytes);

// The library's own rounding of a size scaled by eighths.
ImageSize scaled_jpeg_size(ImageSize size, int eighths);

// `image` is what decoded_as() said; `out` has its bytes, exactly.
Status decode_jpeg(std::span<const std::byte> bytes, const DecodedImage& image,
                   std::span<std::byte> out, std::span<std::byte> scratch);

std::int64_t most_jpeg_scratch_bytes(ImageSize largest, bool progressive);
std::int64_t most_jpeg_plane_scratch_bytes(ImageSize largest, bool progressive);

}  // namespace plimsoll::io
