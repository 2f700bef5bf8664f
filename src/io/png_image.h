// PNG through libpng. image.h is the way in: it has checked the sizes.
#pragma once

#include "io/image.h"

namespace plimsoll::io {

Result<ImageInfo> png_info(std::span<const std::byte> bytes);

// `image` is what decoded_as() said; `out` has its bytes, exactly.
Status decode_png(std::span<const std::byte> bytes, const DecodedImage& image,
                  std::span<std::byte> out, std::span<std::byte> scratch);

std::int64_t png_scratch_bytes(std::int64_t width);

}  // namespace plimsoll::io
