#include "io/jpeg_planes.h"

#include <fmt/core.h>
#include <jerror.h>

#include "io/jpeg_decoder.h"

namespace plimsoll::io {
namespace {

// How large a block of coefficients becomes, across and down.
#if JPEG_LIB_VERSION >= 70
int block_side(const jpeg_component_info& part) {
  return part.DCT_h_scaled_size;
}
int least_block_side(const jpeg_decompress_struct& info) {
  return info.min_DCT_h_scaled_size;
}
#else
int block_side(const jpeg_component_info& part) { return part.DCT_scaled_size; }
int least_block_side(const jpeg_decompress_struct& info) {
  return info.min_DCT_scaled_size;
}
#endif

}  // namespace

JpegPlanes::~JpegPlanes() {
  if (count_ != 0) JpegDecoder::of_this_thread().forget();
}

Status JpegPlanes::open(std::span<const std::byte> bytes, const ImageInfo& info,
                        const DecodeOptions& options,
                        std::span<std::byte> scratch) {
  if (info.planes == Planes::none) {
    return Error{ErrorCode::unsupported, "an image without planes to read"};
  }
  if (info.plane_scratch_bytes > static_cast<std::int64_t>(scratch.size())) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("decoding an image of {} by {} pixels takes {} bytes of "
                    "scratch; there are {}",
                    info.width, info.height, info.plane_scratch_bytes,
                    scratch.size())};
  }
  const DecodedImage image = decoded_as(info, options);
  size_ = image.size;
  eighths_ = image.eighths;
  dct_ = image.dct;
  const bool light_alone =
      info.planes == Planes::grey ||
      (info.planes == Planes::ycbcr && options.channels == 1);
  strips_read_ = 0;
  JpegDecoder& decoder = JpegDecoder::of_this_thread();
  PLIMSOLL_RETURN_IF_ERROR(decoder.read_header(bytes, scratch));
  count_ = light_alone ? 1 : 3;
  return decoder.run(
      [](JpegDecoder& self, void* planes) {
        static_cast<JpegPlanes*>(planes)->start(self);
      },
      this);
}

void JpegPlanes::start(JpegDecoder& decoder) {
  jpeg_decompress_struct& info = decoder.info();
  // The same header as before, or the sizes below would not hold.
  if (info.num_components < count_) ERREXIT(&info, JERR_BAD_STATE);
  info.raw_data_out = TRUE;
  info.scale_num = static_cast<unsigned>(eighths_);
  info.scale_denom = 8;
  info.dct_method = dct_ == Dct::fast ? JDCT_IFAST : JDCT_ISLOW;
  for (int i = count_; i < info.num_components; ++i) {
    info.comp_info[i].component_needed = FALSE;
  }
  jpeg_start_decompress(&info);
  if (info.output_width != static_cast<unsigned>(size_.width) ||
      info.output_height != static_cast<unsigned>(size_.height)) {
    ERREXIT(&info, JERR_BAD_STATE);
  }
  auto* common = reinterpret_cast<j_common_ptr>(&info);
  for (int i = 0; i < count_; ++i) {
    const jpeg_component_info& part = info.comp_info[i];
    const int side = block_side(part);
    const auto ratio = [&](int factor, int most) {
      return static_cast<float>(factor * side) /
             static_cast<float>(most * least_block_side(info));
    };
    facts_[index(i)] = {{static_cast<int>(part.downsampled_width),
                         static_cast<int>(part.downsampled_height)},
                        ratio(part.h_samp_factor, info.max_h_samp_factor),
                        ratio(part.v_samp_factor, info.max_v_samp_factor)};
    strip_rows_[index(i)] = part.v_samp_factor * side;
    for (auto& strip : strips_) {
      strip[index(i)] = (*info.mem->alloc_sarray)(
          common, JPOOL_IMAGE,
          part.width_in_blocks * static_cast<unsigned>(side),
          static_cast<unsigned>(strip_rows_[index(i)]));
    }
  }
}

Status JpegPlanes::read_strip() {
  return JpegDecoder::of_this_thread().run(
      [](JpegDecoder& self, void* planes) {
        static_cast<JpegPlanes*>(planes)->read(self);
      },
      this);
}

void JpegPlanes::read(JpegDecoder& decoder) {
  jpeg_decompress_struct& info = decoder.info();
  jpeg_read_raw_data(
      &info, strips_[index(strips_read_ % 2)].data(),
      static_cast<unsigned>(info.max_v_samp_factor * least_block_side(info)));
  ++strips_read_;
}

}  // namespace plimsoll::io
