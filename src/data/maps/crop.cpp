#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "data/maps/chance.h"
#include "data/maps/geometry.h"

namespace plimsoll::data {
namespace {

constexpr std::uint64_t kCropSalt = 0x63726f70;

class Crop : public OneFieldMap {
 public:
  explicit Crop(CropOptions options)
      : OneFieldMap("crop", std::move(options.field)),
        height_(options.height),
        width_(options.width),
        at_(options.at) {}
  explicit Crop(RandomCropOptions options)
      : OneFieldMap("random_crop", std::move(options.field)),
        height_(options.height),
        width_(options.width),
        salt_(kCropSalt ^ options.salt),
        random_(true) {}

 private:
  Result<FieldSpec> bind_field(const FieldSpec& in) override {
    if (in.shape.rank < 2) {
      return bad(fmt::format("a field of {}; it should be [height, width, ...]",
                             to_string(in.shape)));
    }
    if (height_ < 1 || width_ < 1 || (at_ && (at_->top < 0 || at_->left < 0))) {
      return bad(
          fmt::format("a window of {} by {}; both should be 1 or more, "
                      "its offset 0 or more",
                      width_, height_));
    }
    FieldSpec out = in;
    out.shape = cropped(in.shape);
    if (in.shape.is_fixed()) {
      const auto found = find_offset(in.shape, 0, {});
      if (!found) return bad(found.error().message);
    }
    if (out.shape.is_fixed()) {
      PLIMSOLL_ASSIGN(const std::int64_t count, checked_elements(out.shape));
      out.most_bytes = std::min(in.most_bytes, count * size_of(in.dtype));
    }
    return out;
  }

  Extents cropped(Extents shape) const {
    shape.sizes[0] = height_;
    shape.sizes[1] = width_;
    return shape;
  }

  Result<CropOffset> find_offset(const Extents& shape, std::int64_t index,
                                 const MapContext& context) const {
    const std::int64_t rows = shape[0] - height_;
    const std::int64_t columns = shape[1] - width_;
    const CropOffset given = at_.value_or(CropOffset{});
    if (rows < given.top || columns < given.left) {
      return wrong(fmt::format(
          "a window of {} by {} at row {}, column {} does "
          "not lie within {}",
          width_, height_, given.top, given.left, to_string(shape)));
    }
    if (at_) return given;
    if (!random_) return CropOffset{rows / 2, columns / 2};
    const PhiloxBlock bits = chance(context, index, salt_);
    return CropOffset{below(bits[0], rows + 1), below(bits[1], columns + 1)};
  }

  Status apply_field(const Value& in, Value& out, std::byte* buffer,
                     std::int64_t index,
                     const MapContext& context) const override {
    PLIMSOLL_ASSIGN(const CropOffset at, find_offset(in.shape, index, context));
    PLIMSOLL_RETURN_IF_ERROR(set_shape(out, cropped(in.shape)));
    const std::int64_t pixel = out.bytes / (height_ * width_);
    const std::int64_t in_row = in.shape[1] * pixel;
    const std::int64_t out_row = width_ * pixel;
    const std::byte* from = in.data + at.top * in_row + at.left * pixel;
    for (std::int64_t y = 0; y < height_; ++y) {
      std::memcpy(buffer + y * out_row, from + y * in_row,
                  static_cast<std::size_t>(out_row));
    }
    return {};
  }

  std::int64_t height_;
  std::int64_t width_;
  std::optional<CropOffset> at_;
  std::uint64_t salt_ = 0;
  bool random_ = false;
};

}  // namespace

std::unique_ptr<Map> crop(CropOptions options) {
  return std::make_unique<Crop>(std::move(options));
}
std::unique_ptr<Map> random_crop(RandomCropOptions options) {
  return std::make_unique<Crop>(std::move(options));
}

}  // namespace plimsoll::data
