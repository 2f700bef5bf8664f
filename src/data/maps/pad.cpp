#include "data/maps/pad.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "io/convert.h"

namespace plimsoll::data {
namespace {

class Pad : public OneFieldMap {
 public:
  explicit Pad(PadOptions options)
      : OneFieldMap("pad", std::move(options.field)),
        shape_(options.shape),
        number_(options.value) {}

 private:
  Result<FieldSpec> bind_field(const FieldSpec& in) override {
    for (int i = 0; i < shape_.rank; ++i) {
      if (shape_[i] < 1) {
        return bad(
            fmt::format("an extent of {}; 1 or more is right", shape_[i]));
      }
    }
    const auto count = checked_elements(shape_);
    if (!count) return bad(count.error().message);
    if (!fits(in.shape)) return bad(does_not_fit(in.shape));
    width_ = size_of(in.dtype);
    io::convert(DType::f64, &number_, in.dtype, value_.data(), 1);
    double stored = 0;
    io::convert(in.dtype, value_.data(), DType::f64, &stored, 1);
    const bool rounds = is_floating(in.dtype);
    if (rounds ? std::isfinite(number_) && !std::isfinite(stored)
               : stored != number_) {
      return bad(fmt::format("a value of {}; {} cannot hold it", number_,
                             name_of(in.dtype)));
    }
    return fixed_field(in.name, in.dtype, shape_);
  }

  // Extents that vary fit until an element shows otherwise.
  bool fits(const Extents& in) const {
    if (in.rank != shape_.rank) return false;
    for (int i = 0; i < in.rank; ++i) {
      if (in[i] > shape_[i]) return false;
    }
    return true;
  }
  std::string does_not_fit(const Extents& in) const {
    return fmt::format("{} does not fit into {}", to_string(in),
                       to_string(shape_));
  }

  Status apply_field(const Value& in, Value& out, std::byte* buffer,
                     std::int64_t /*index*/,
                     const MapContext& /*context*/) const override {
    if (!fits(in.shape)) return wrong(does_not_fit(in.shape));
    PLIMSOLL_RETURN_IF_ERROR(set_shape(out, shape_));
    const int last = shape_.rank - 1;
    const std::int64_t row = last < 0 ? 1 : shape_[last];
    const std::int64_t kept = last < 0 ? 1 : in.shape[last];
    const std::int64_t row_bytes = row * width_;
    std::array<std::int64_t, kMostRank> at{};  // of the row, without `last`
    const std::byte* from = in.data;
    std::byte* const end = buffer + out.bytes;
    for (std::byte* to = buffer; to < end; to += row_bytes) {
      bool inside = kept > 0;
      for (int i = 0; i < last; ++i) {
        inside = inside && at[static_cast<std::size_t>(i)] < in.shape[i];
      }
      const std::int64_t bytes = inside ? kept * width_ : 0;
      if (inside) std::memcpy(to, from, static_cast<std::size_t>(bytes));
      from += bytes;
      fill(to + bytes, row_bytes - bytes);
      for (int i = last - 1; i >= 0; --i) {
        std::int64_t& index = at[static_cast<std::size_t>(i)];
        if (++index < shape_[i]) break;
        index = 0;
      }
    }
    return {};
  }

  // Twice as much with every copy.
  void fill(std::byte* to, std::int64_t bytes) const {
    if (bytes == 0) return;
    std::memcpy(to, value_.data(), static_cast<std::size_t>(width_));
    for (std::int64_t done = width_; done < bytes; done *= 2) {
      std::memcpy(to + done, to,
                  static_cast<std::size_t>(std::min(done, bytes - done)));
    }
  }

  Extents shape_;
  double number_;
  std::array<std::byte, 8> value_{};  // the number as the field has it
  std::int64_t width_ = 1;
};

}  // namespace

std::unique_ptr<Map> pad(PadOptions options) {
  return std::make_unique<Pad>(std::move(options));
}

}  // namespace plimsoll::data
