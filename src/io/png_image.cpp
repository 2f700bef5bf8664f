#include "io/png_image.h"

#include <fmt/core.h>
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "io/bump_memory.h"

namespace plimsoll::io {
namespace {

// libpng's structures and zlib's state and window, with room for other makes
// of zlib.
constexpr std::int64_t kFixedBytes = 128 * kKiB;
constexpr std::size_t kSignatureBytes = 8;
constexpr std::size_t kChunkFrameBytes = 12;  // length, name, checksum

// Chunks that change no pixel here. libpng would keep some of them in memory.
constexpr char kIgnored[] =
    "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0"
    "sPLT\0sRGB\0sTER\0tEXt\0tIME\0zTXt";
constexpr int kIgnoredCount = sizeof(kIgnored) / 5;

Error truncated(std::size_t bytes) {
  return {ErrorCode::bad_input,
          fmt::format("truncated image at byte {}", bytes)};
}

std::uint32_t big_endian(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + i]);
  }
  return value;
}

std::string_view chunk_name(std::span<const std::byte> bytes, std::size_t at) {
  return {reinterpret_cast<const char*>(bytes.data()) + at + 4, 4};
}

// Whether a colour or a palette is transparent: said before the pixels.
Result<bool> has_transparency(std::span<const std::byte> bytes) {
  std::size_t at = kSignatureBytes;
  while (bytes.size() - at >= kChunkFrameBytes) {
    const std::size_t length = big_endian(bytes, at);
    const std::string_view name = chunk_name(bytes, at);
    if (name == "IDAT") return false;
    if (length > bytes.size() - at - kChunkFrameBytes) break;
    if (name == "tRNS") return true;
    at += kChunkFrameBytes + length;
  }
  return truncated(bytes.size());
}

struct PngReader {
  std::span<const std::byte> bytes;
  std::size_t at = 0;
  DecodedImage image;
  png_bytep out = nullptr;
  BumpMemory memory;
  std::jmp_buf caught;
  char message[128] = {};
};

[[noreturn]] void fail(png_structp png, png_const_charp message) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::snprintf(reader->message, sizeof(reader->message), "%s", message);
  std::longjmp(reader->caught, 1);
}

void ignore_warning(png_structp /*png*/, png_const_charp /*message*/) {}

png_voidp take(png_structp png, png_alloc_size_t bytes) {
  return static_cast<BumpMemory*>(png_get_mem_ptr(png))->take(bytes);
}

void give_back(png_structp png, png_voidp piece) {
  static_cast<BumpMemory*>(png_get_mem_ptr(png))->give_back(piece);
}

void read(png_structp png, png_bytep out, std::size_t count) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (count > reader->bytes.size() - reader->at) {
    char text[64];
    std::snprintf(text, sizeof(text), "truncated image at byte %zu",
                  reader->bytes.size());
    png_error(png, text);
  }
  std::memcpy(out, reader->bytes.data() + reader->at, count);
  reader->at += count;
}

// Sets libpng up to give 8-bit pixels of just the channels wanted.
void ask_for_channels(png_structp png, png_infop info, int channels) {
  const png_byte type = png_get_color_type(png, info);
  const bool has_colour = (type & PNG_COLOR_MASK_COLOR) != 0;
  const bool has_alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 ||
                         png_get_valid(png, info, PNG_INFO_tRNS) != 0;
  png_set_strip_16(png);
  png_set_expand(png);
  if (channels >= 3 && !has_colour) png_set_gray_to_rgb(png);
  if (channels < 3 && has_colour) {
    // Luma of JPEG, so that both formats give the same grey.
    png_set_rgb_to_gray_fixed(png, PNG_ERROR_ACTION_NONE, 29'900, 58'700);
  }
  const bool wants_alpha = channels % 2 == 0;
  if (wants_alpha && !has_alpha) {
    png_set_add_alpha(png, 0xff, PNG_FILLER_AFTER);
  }
  if (!wants_alpha) png_set_strip_alpha(png);
}

// No object with a destructor lives in these two: longjmp passes them. All
// memory is the caller's, so nothing has to be destroyed either.
void read_image(PngReader& reader) {
  png_structp png =
      png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &reader, fail,
                               ignore_warning, &reader.memory, take, give_back);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info == nullptr) {
    std::snprintf(reader.message, sizeof(reader.message),
                  "libpng could not be started");
    std::longjmp(reader.caught, 1);
  }
  png_set_user_limits(png, kMostImageSide, kMostImageSide);
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER,
                              reinterpret_cast<png_const_bytep>(kIgnored),
                              kIgnoredCount);
  png_set_read_fn(png, &reader, read);
  png_read_info(png, info);
  ask_for_channels(png, info, reader.image.channels);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  const auto height = static_cast<png_uint_32>(reader.image.size.height);
  const std::size_t row_bytes =
      static_cast<std::size_t>(reader.image.size.width) *
      static_cast<std::size_t>(reader.image.channels);
  // The header said so, and `out` was measured by it.
  if (png_get_rowbytes(png, info) != row_bytes ||
      png_get_image_height(png, info) != height) {
    png_error(png, "the size changed after the header");
  }
  for (int pass = 0; pass < passes; ++pass) {
    for (png_uint_32 y = 0; y < height; ++y) {
      png_read_row(png, reader.out + y * row_bytes, nullptr);
    }
  }
  png_read_end(png, nullptr);
}

bool read_caught(PngReader& reader) {
  if (setjmp(reader.caught) != 0) return false;
  read_image(reader);
  return true;
}

}  // namespace

std::int64_t png_scratch_bytes(std::int64_t width) {
  // Two rows of at most 8 bytes a pixel, and their padding.
  return kFixedBytes + 2 * (round_up(width, 8) * 8 + 256);
}

Result<ImageInfo> png_info(std::span<const std::byte> bytes) {
  constexpr std::size_t kHeaderEnd = kSignatureBytes + kChunkFrameBytes + 13;
  if (bytes.size() < kHeaderEnd) return truncated(bytes.size());
  const auto bad = [](std::string what) {
    return Error{ErrorCode::bad_input, std::move(what)};
  };
  if (chunk_name(bytes, kSignatureBytes) != "IHDR" ||
      big_endian(bytes, kSignatureBytes) != 13) {
    return bad("a PNG whose first chunk at byte 8 is not a header (IHDR)");
  }
  const std::uint32_t width = big_endian(bytes, 16);
  const std::uint32_t height = big_endian(bytes, 20);
  constexpr std::uint32_t kMost = std::numeric_limits<std::int32_t>::max();
  if (width == 0 || height == 0 || width > kMost || height > kMost) {
    return bad(fmt::format("a PNG of {} by {} pixels", width, height));
  }
  const int type = std::to_integer<int>(bytes[25]);
  if (type != 0 && type != 2 && type != 3 && type != 4 && type != 6) {
    return bad(fmt::format("a PNG of unknown colour type {} at byte 25", type));
  }
  int channels = type == 0 ? 1 : type == 4 ? 2 : type == 6 ? 4 : 3;
  if ((type & PNG_COLOR_MASK_ALPHA) == 0) {
    PLIMSOLL_ASSIGN(const bool transparent, has_transparency(bytes));
    channels += transparent ? 1 : 0;
  }
  return ImageInfo{ImageFormat::png, static_cast<int>(width),
                   static_cast<int>(height), channels,
                   png_scratch_bytes(width)};
}

Status decode_png(std::span<const std::byte> bytes, const DecodedImage& image,
                  std::span<std::byte> out, std::span<std::byte> scratch) {
  PngReader reader;
  reader.bytes = bytes;
  reader.image = image;
  reader.out = reinterpret_cast<png_bytep>(out.data());
  reader.memory = BumpMemory(scratch);
  if (read_caught(reader)) return {};
  return Error{ErrorCode::bad_input, reader.message};
}

}  // namespace plimsoll::io
