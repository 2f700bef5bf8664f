#include <fmt/core.h>

#include <utility>

#include "data/maps/geometry.h"

namespace plimsoll::data {
namespace {

class Reshape : public OneFieldMap {
 public:
  explicit Reshape(ReshapeOptions options)
      : OneFieldMap("reshape", std::move(options.field)),
        shape_(options.shape) {}

  bool writes(int /*field*/) const override { return false; }

 private:
  Result<FieldSpec> bind_field(const FieldSpec& in) override {
    int open = 0;
    for (int i = 0; i < shape_.rank; ++i) {
      if (shape_[i] == kVaries) ++open;
      if (shape_[i] < kVaries || shape_[i] == 0) {
        return bad(
            fmt::format("an extent of {}; 1 or more, or once -1 for "
                        "what is left, is right",
                        shape_[i]));
      }
    }
    if (open > 1) return bad("-1 stands twice; once is right");
    FieldSpec out = in;
    out.shape = shape_;
    if (in.shape.is_fixed()) {
      const auto found = filled(in.shape);
      if (!found) return bad(found.error().message);
      out.shape = *found;
    }
    return out;
  }

  // The wanted shape for elements of `in`.
  Result<Extents> filled(const Extents& in) const {
    PLIMSOLL_ASSIGN(const std::int64_t count, checked_elements(in));
    std::int64_t known = 1;
    int open = -1;
    bool fits = true;
    for (int i = 0; i < shape_.rank; ++i) {
      if (shape_[i] == kVaries) {
        open = i;
      } else {
        fits = fits && !__builtin_mul_overflow(known, shape_[i], &known);
      }
    }
    Extents out = shape_;
    fits = fits && count % known == 0;
    if (fits && open >= 0) {
      out.sizes[static_cast<std::size_t>(open)] = count / known;
    }
    if (!fits || (open < 0 && known != count)) {
      return wrong(fmt::format("{} has {} elements and does not fill {}",
                               to_string(in), count, to_string(shape_)));
    }
    return out;
  }

  // Passed on without a copy: only the shape is new.
  Status apply_field(const Value& in, Value& out, std::byte* /*buffer*/,
                     std::int64_t /*index*/,
                     const MapContext& /*context*/) const override {
    PLIMSOLL_ASSIGN(out.shape, filled(in.shape));
    return {};
  }

  Extents shape_;
};

}  // namespace

std::unique_ptr<Map> reshape(ReshapeOptions options) {
  return std::make_unique<Reshape>(std::move(options));
}

}  // namespace plimsoll::data
