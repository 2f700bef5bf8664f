#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "data/maps/chance.h"
#include "data/maps/geometry.h"

namespace plimsoll::data {
namespace {

constexpr std::uint64_t kFlipSalt = 0x666c6970;

// Pixels of a size known to the compiler are moved in registers.
template <std::int64_t kPixel>
void reverse_fixed(const std::byte* in, std::byte* out, std::int64_t width) {
  for (std::int64_t x = 0; x < width; ++x) {
    std::memcpy(out + x * kPixel, in + (width - 1 - x) * kPixel, kPixel);
  }
}

void reverse_row(const std::byte* in, std::byte* out, std::int64_t width,
                 std::int64_t pixel) {
  switch (pixel) {
    case 1:
      return reverse_fixed<1>(in, out, width);
    case 3:
      return reverse_fixed<3>(in, out, width);
    case 4:
      return reverse_fixed<4>(in, out, width);
    case 12:
      return reverse_fixed<12>(in, out, width);
    case 16:
      return reverse_fixed<16>(in, out, width);
    default:
      for (std::int64_t x = 0; x < width; ++x) {
        std::memcpy(out + x * pixel, in + (width - 1 - x) * pixel,
                    static_cast<std::size_t>(pixel));
      }
  }
}

class Flip : public OneFieldMap {
 public:
  explicit Flip(FlipOptions options)
      : OneFieldMap("flip", std::move(options.field)), axis_(options.axis) {}
  explicit Flip(RandomFlipOptions options)
      : OneFieldMap("random_flip", std::move(options.field)),
        axis_(options.axis),
        probability_(options.probability),
        // Both axes of one image are flipped independently.
        salt_(kFlipSalt ^ options.salt ^
              (options.axis == FlipAxis::up_down ? 1ull << 63 : 0)) {}

 private:
  Result<FieldSpec> bind_field(const FieldSpec& in) override {
    if (in.shape.rank < 2) {
      return bad(fmt::format("a field of {}; it should be [height, width, ...]",
                             to_string(in.shape)));
    }
    if (!(probability_ >= 0 && probability_ <= 1)) {
      return bad(
          fmt::format("a probability of {}; 0 to 1 is right", probability_));
    }
    return in;
  }

  Status apply_field(const Value& in, Value& out, std::byte* buffer,
                     std::int64_t index,
                     const MapContext& context) const override {
    PLIMSOLL_RETURN_IF_ERROR(set_shape(out, in.shape));
    if (in.bytes == 0) return {};
    const bool flipped =
        probability_ >= 1 ||
        uniform_float(chance(context, index, salt_)[0]) < probability_;
    if (!flipped) {
      std::memcpy(buffer, in.data, static_cast<std::size_t>(in.bytes));
      return {};
    }
    const std::int64_t height = in.shape[0];
    const std::int64_t width = in.shape[1];
    const std::int64_t row = in.bytes / height;
    for (std::int64_t y = 0; y < height; ++y) {
      const std::byte* from = in.data + y * row;
      if (axis_ == FlipAxis::up_down) {
        std::memcpy(buffer + (height - 1 - y) * row, from,
                    static_cast<std::size_t>(row));
      } else {
        reverse_row(from, buffer + y * row, width, row / width);
      }
    }
    return {};
  }

  FlipAxis axis_;
  float probability_ = 1;
  std::uint64_t salt_ = 0;
};

}  // namespace

std::unique_ptr<Map> flip(FlipOptions options) {
  return std::make_unique<Flip>(std::move(options));
}
std::unique_ptr<Map> random_flip(RandomFlipOptions options) {
  return std::make_unique<Flip>(std::move(options));
}

}  // namespace plimsoll::data
