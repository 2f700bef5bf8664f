#include "data/maps/decode.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "data/maps/resize.h"
#include "data/maps/resize_planes.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kAlignment = 64;

class Decode : public OneFieldMap {
 public:
  explicit Decode(const DecodeImageOptions& options)
      : OneFieldMap("decode_image", options.field),
        decoding_{options.channels, options.at_least, options.dct},
        largest_(options.largest),
        progressive_(options.progressive) {}

 protected:
  // What both ways ask of the field and the options.
  Status check(const FieldSpec& in) const {
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
    return {};
  }

  std::int64_t most_image_bytes() const {
    return std::int64_t{largest_.width} * largest_.height *
           (decoding_.channels == 0 ? 4 : decoding_.channels);
  }

  Result<io::ImageInfo> header(std::span<const std::byte> bytes) const {
    PLIMSOLL_ASSIGN(const io::ImageInfo info, io::image_info(bytes));
    if (info.width > largest_.width || info.height > largest_.height) {
      return wrong(fmt::format(
          "an image of {} by {} pixels; {} by {} were "
          "declared as the largest",
          info.width, info.height, largest_.width, largest_.height));
    }
    return info;
  }

  static std::span<const std::byte> file_of(const Value& value) {
    return {value.data, static_cast<std::size_t>(value.bytes)};
  }

  io::DecodeOptions decoding_;
  io::ImageSize largest_;
  bool progressive_;
};

class DecodeImage : public Decode {
 public:
  using Decode::Decode;

  std::int64_t scratch_bytes() const override {
    return io::most_scratch_bytes(largest_, progressive_);
  }

 private:
  Result<FieldSpec> bind_field(const FieldSpec& in) override {
    PLIMSOLL_RETURN_IF_ERROR(check(in));
    const int channels = decoding_.channels;
    FieldSpec out = in;
    out.shape = {kVaries, kVaries, channels == 0 ? kVaries : channels};
    out.most_bytes = most_image_bytes();
    return out;
  }

  Status apply_field(const Value& in, Value& out, std::byte* buffer,
                     std::int64_t /*index*/,
                     const MapContext& context) const override {
    PLIMSOLL_RETURN_IF_ERROR(header(file_of(in)));
    PLIMSOLL_ASSIGN(
        const io::DecodedImage image,
        io::decode_image(
            file_of(in), decoding_,
            {buffer, static_cast<std::size_t>(out_spec().most_bytes)},
            context.scratch));
    return set_shape(out,
                     {image.size.height, image.size.width, image.channels});
  }
};

class DecodeResized : public Decode {
 public:
  explicit DecodeResized(const DecodeImageOptions& options)
      : Decode(options),
        target_{options.resize_to, options.channels},
        whole_(options.whole),
        resizer_(
            resize({{}, options.resize_to.height, options.resize_to.width})) {}

  std::int64_t scratch_bytes() const override {
    const std::int64_t planes =
        strips_bytes() + plane_resize_bytes(largest_.width, target_);
    if (!whole_) return planes;
    const std::int64_t after =
        std::max(io::most_scratch_bytes(largest_, progressive_),
                 resizer_->scratch_bytes());
    return std::max(planes, whole_image_bytes() + after);
  }

 private:
  Result<FieldSpec> bind_field(const FieldSpec& in) override {
    PLIMSOLL_RETURN_IF_ERROR(check(in));
    if (target_.channels == 0) {
      return bad("0 channels (as stored); images to be resized have 1, 3 or 4");
    }
    FieldSpec image = in;
    image.shape = {kVaries, kVaries, target_.channels};
    image.most_bytes = most_image_bytes();
    const auto resized = resizer_->bind({image});
    if (!resized) return bad(resized.error().message);
    return (*resized)[0];
  }

  std::int64_t strips_bytes() const {
    return round_up(io::most_plane_scratch_bytes(largest_, progressive_),
                    kAlignment);
  }
  std::int64_t whole_image_bytes() const {
    return round_up(most_image_bytes(), kAlignment);
  }

  Status apply_field(const Value& in, Value& out, std::byte* buffer,
                     std::int64_t /*index*/,
                     const MapContext& context) const override {
    PLIMSOLL_ASSIGN(const io::ImageInfo info, header(file_of(in)));
    // RGB in planes has no plane of grey.
    if (info.planes == io::Planes::none ||
        (info.planes == io::Planes::rgb && target_.channels == 1)) {
      return resize_whole(in, info, out, buffer, context);
    }
    PLIMSOLL_RETURN_IF_ERROR(set_shape(out, out_spec().shape));
    const auto strips = static_cast<std::size_t>(strips_bytes());
    io::JpegPlanes planes;
    PLIMSOLL_RETURN_IF_ERROR(planes.open(file_of(in), info, decoding_,
                                         context.scratch.first(strips)));
    return resize_planes(planes, info.planes, target_,
                         context.scratch.data() + strips,
                         reinterpret_cast<float*>(buffer));
  }

  // To pixels in scratch, and those resized.
  Status resize_whole(const Value& in, const io::ImageInfo& info, Value& out,
                      std::byte* buffer, const MapContext& context) const {
    if (!whole_) {
      return wrong(fmt::format(
          "{}; it has to be decoded whole before it is resized, and no memory "
          "was planned for that",
          info.format == io::ImageFormat::png ? "a PNG"
                                              : "a JPEG of unusual colours"));
    }
    const auto image_bytes = static_cast<std::size_t>(whole_image_bytes());
    const auto image = context.scratch.first(image_bytes);
    const auto rest = context.scratch.subspan(image_bytes);
    PLIMSOLL_ASSIGN(const io::DecodedImage decoded,
                    io::decode_image(file_of(in), decoding_, image, rest));
    Element pixels;
    pixels.values[0] = {
        image.data(),
        decoded.bytes(),
        {decoded.size.height, decoded.size.width, decoded.channels}};
    Element resized;
    PLIMSOLL_RETURN_IF_ERROR(resizer_->apply(
        pixels, resized, {&buffer, 1}, {rest, context.seed, context.epoch}));
    out.shape = resized.values[0].shape;
    out.bytes = resized.values[0].bytes;
    return {};
  }

  PlaneTarget target_;
  bool whole_;
  std::unique_ptr<Map> resizer_;
};

}  // namespace

std::unique_ptr<Map> decode_image(DecodeImageOptions options) {
  if (options.resize_to != io::ImageSize{}) {
    return std::make_unique<DecodeResized>(options);
  }
  return std::make_unique<DecodeImage>(options);
}

}  // namespace plimsoll::data
