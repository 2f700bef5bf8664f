#include "io/jpeg.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "io/jpeg_decoder.h"

namespace plimsoll::io {
namespace {

// Tables, colour conversion and the library's structures, by measurement less
// than half of this.
constexpr std::int64_t kFixedBytes = 64 * kKiB;
constexpr std::int64_t kRowPadding = 64;
constexpr std::int64_t kHeaderBytes = 16 * kKiB;

std::int64_t rows_bytes(std::int64_t row_bytes, std::int64_t rows) {
  return rows * (round_up(row_bytes, kRowPadding) +
                 static_cast<std::int64_t>(sizeof(void*))) +
         2 * kRowPadding;
}

// All the coefficients of one component.
std::int64_t coefficient_bytes(std::int64_t blocks_across,
                               std::int64_t blocks_down) {
  return rows_bytes(blocks_across * static_cast<std::int64_t>(sizeof(JBLOCK)),
                    blocks_down);
}

// Rows waiting between the stages of decoding, one component's. At a smaller
// scale rows are narrower, but a component may have a few more of them.
std::int64_t waiting_bytes(std::int64_t width, std::int64_t blocks_across,
                           std::int64_t rows_per_unit,
                           std::int64_t most_rows_per_unit) {
  const std::int64_t rows =
      std::max(10 * rows_per_unit, 6 * most_rows_per_unit);
  return rows_bytes(blocks_across * DCTSIZE, rows) +
         4 * rows * static_cast<std::int64_t>(sizeof(void*)) +
         rows_bytes(width + MAX_SAMP_FACTOR, most_rows_per_unit);
}

std::int64_t scratch_bytes(const jpeg_decompress_struct& info, bool whole) {
  const std::int64_t width = info.image_width;
  std::int64_t bytes = kFixedBytes + rows_bytes(width * 4, 1);
  for (int i = 0; i < info.num_components; ++i) {
    const jpeg_component_info& part = info.comp_info[i];
    const std::int64_t across =
        round_up(part.width_in_blocks, part.h_samp_factor);
    const std::int64_t down =
        round_up(part.height_in_blocks, part.v_samp_factor);
    bytes += waiting_bytes(width, across, part.v_samp_factor,
                           info.max_v_samp_factor);
    if (whole) bytes += coefficient_bytes(across, down);
  }
  return bytes;
}

// Two strips of each component; fewer rows and narrower at a smaller scale.
std::int64_t strip_bytes(std::int64_t blocks_across,
                         std::int64_t rows_per_unit) {
  return 2 * rows_bytes(blocks_across * DCTSIZE, rows_per_unit * DCTSIZE);
}

std::int64_t plane_scratch_bytes(const jpeg_decompress_struct& info,
                                 bool whole) {
  std::int64_t bytes = kFixedBytes;
  for (int i = 0; i < info.num_components; ++i) {
    const jpeg_component_info& part = info.comp_info[i];
    const std::int64_t across =
        round_up(part.width_in_blocks, part.h_samp_factor);
    const std::int64_t down =
        round_up(part.height_in_blocks, part.v_samp_factor);
    bytes += strip_bytes(across, part.v_samp_factor);
    if (whole) bytes += coefficient_bytes(across, down);
  }
  return bytes;
}

// Ratios that are no whole numbers are left to decode_image(), which refuses
// them, and so are colours that differ from each other.
Planes planes_of(const jpeg_decompress_struct& info) {
  const jpeg_component_info* part = info.comp_info;
  if (info.num_components == 3 &&
      (part[1].h_samp_factor != part[2].h_samp_factor ||
       part[1].v_samp_factor != part[2].v_samp_factor)) {
    return Planes::none;
  }
  for (int i = 0; i < info.num_components; ++i) {
    if (info.max_h_samp_factor % part[i].h_samp_factor != 0 ||
        info.max_v_samp_factor % part[i].v_samp_factor != 0) {
      return Planes::none;
    }
  }
  switch (info.jpeg_color_space) {
    case JCS_GRAYSCALE:
      return info.num_components == 1 ? Planes::grey : Planes::none;
    case JCS_YCbCr:
      return info.num_components == 3 ? Planes::ycbcr : Planes::none;
    case JCS_RGB:
      return info.num_components == 3 ? Planes::rgb : Planes::none;
    default:
      return Planes::none;
  }
}

}  // namespace

ImageSize scaled_jpeg_size(ImageSize size, int eighths) {
  const auto scaled = [&](int side) {
    return static_cast<int>((std::int64_t{side} * eighths + 7) / 8);
  };
  return {scaled(size.width), scaled(size.height)};
}

std::int64_t most_jpeg_scratch_bytes(ImageSize largest, bool progressive) {
  const std::int64_t across =
      round_up(largest.width, DCTSIZE) / DCTSIZE + MAX_SAMP_FACTOR;
  const std::int64_t down =
      round_up(largest.height, DCTSIZE) / DCTSIZE + MAX_SAMP_FACTOR;
  return kFixedBytes + rows_bytes(std::int64_t{largest.width} * 4, 1) +
         3 * waiting_bytes(largest.width, across, MAX_SAMP_FACTOR,
                           MAX_SAMP_FACTOR) +
         (progressive ? 3 * coefficient_bytes(across, down) : 0);
}

std::int64_t most_jpeg_plane_scratch_bytes(ImageSize largest,
                                           bool progressive) {
  const std::int64_t across =
      round_up(largest.width, DCTSIZE) / DCTSIZE + MAX_SAMP_FACTOR;
  const std::int64_t down =
      round_up(largest.height, DCTSIZE) / DCTSIZE + MAX_SAMP_FACTOR;
  return kFixedBytes + 3 * strip_bytes(across, MAX_SAMP_FACTOR) +
         (progressive ? 3 * coefficient_bytes(across, down) : 0);
}

Result<ImageInfo> jpeg_info(std::span<const std::byte> bytes) {
  alignas(BumpMemory::kAlignment) std::byte memory[kHeaderBytes];
  JpegDecoder& decoder = JpegDecoder::of_this_thread();
  PLIMSOLL_RETURN_IF_ERROR(decoder.read_header(bytes, memory));
  const jpeg_decompress_struct& info = decoder.info();
  const int components = info.num_components;
  const bool whole = decoder.has_several_scans();
  ImageInfo facts{ImageFormat::jpeg,
                  static_cast<int>(info.image_width),
                  static_cast<int>(info.image_height),
                  components == 1 ? 1 : 3,
                  scratch_bytes(info, whole),
                  planes_of(info),
                  plane_scratch_bytes(info, whole)};
  decoder.forget();
  if (components != 1 && components != 3 && components != 4) {
    return Error{ErrorCode::unsupported,
                 fmt::format("a JPEG of {} components; 1 (grey), 3 (colour) or "
                             "4 (CMYK) can be decoded",
                             components)};
  }
  return facts;
}

Status decode_jpeg(std::span<const std::byte> bytes, const DecodedImage& image,
                   std::span<std::byte> out, std::span<std::byte> scratch) {
  JpegDecoder& decoder = JpegDecoder::of_this_thread();
  PLIMSOLL_RETURN_IF_ERROR(decoder.read_header(bytes, scratch));
  if (decoder.info().num_components == 4 && image.channels == 1) {
    decoder.forget();
    return Error{ErrorCode::unsupported,
                 "a CMYK JPEG is not decoded to grey; ask for 3 channels"};
  }
  const Status decoded = decoder.decode(image, out);
  decoder.forget();
  return decoded;
}

}  // namespace plimsoll::io
