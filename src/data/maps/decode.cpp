#include "data/maps/decode.h"

#include <fmt/format.h>

#include <utility>

namespace plimsoll::data {
namespace {

class DecodeImage : public OneFieldMap {
 public:
  explicit DecodeImage(DecodeImageOptions options)
      : OneFieldMap("decode_image", std::move(options.field)),
        decoding_{options.channels, options.at_least},
        largest_(options.largest),
        progressive_(options.progressive) {}

  std::int64_t scratch_bytes() const override {
    return io::most_scratch_bytes(largest_, progressive_);
  }

 private:
  Result<FieldSpec> bind_field(const FieldSpec& in) override {
    if (in.dtype != DType::u8) {
      return bad(
          fmt::format("a field of {}; it should hold the bytes of image "
                      "files (u8)",
                      name_of(in.dtype)));
    }
    const auto within = [](int side) {
      return side >= 1 && side <= io::kMostImageSide;
    };
    if (!within(largest_.width) || !within(largest_.height)) {
      return bad(
          fmt::format("a largest image of {} by {} pixels; say how wide "
                      "and high images get, 1 to {}",
                      largest_.width, largest_.height, io::kMostImageSide));
    }
    const int channels = decoding_.channels;
    if (channels != 0 && channels != 1 && channels != 3 && channels != 4) {
      return bad(fmt::format("{} channels; 1, 3, 4 or 0 (as stored) can be had",
                             channels));
    }
    FieldSpec out = in;
    out.shape = {kVaries, kVaries, channels == 0 ? kVaries : channels};
    out.most_bytes = std::int64_t{largest_.width} * largest_.height *
                     (channels == 0 ? 4 : channels);
    return out;
  }

  Status apply_field(const Value& in, Value& out, std::byte* buffer,
                     std::int64_t /*index*/,
                     const MapContext& context) const override {
    const std::span bytes(in.data, static_cast<std::size_t>(in.bytes));
    const auto info = io::image_info(bytes);
    if (!info) return wrong(info.error().message);
    if (info->width > largest_.width || info->height > largest_.height) {
      return wrong(fmt::format(
          "an image of {} by {} pixels; {} by {} were "
          "declared as the largest",
          info->width, info->height, largest_.width, largest_.height));
    }
    const auto image = io::decode_image(
        bytes, decoding_,
        {buffer, static_cast<std::size_t>(out_spec().most_bytes)},
        context.scratch);
    if (!image) return wrong(image.error().message);
    return set_shape(out,
                     {image->size.height, image->size.width, image->channels});
  }

  io::DecodeOptions decoding_;
  io::ImageSize largest_;
  bool progressive_;
};

}  // namespace

std::unique_ptr<Map> decode_image(DecodeImageOptions options) {
  return std::make_unique<DecodeImage>(std::move(options));
}

}  // namespace plimsoll::data
