#include "data/maps/numeric.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "io/convert.h"

namespace plimsoll::data {
namespace {

// Elements worked on while they are in the first-level cache.
constexpr std::int64_t kBlock = 2048;

FieldSpec with_dtype(const FieldSpec& in, DType dtype) {
  FieldSpec out = in;
  out.dtype = dtype;
  out.most_bytes = in.most_bytes / size_of(in.dtype) * size_of(dtype);
  return out;
}

class Cast : public OneFieldMap {
 public:
  explicit Cast(CastOptions options)
      : OneFieldMap("cast", std::move(options.field)), to_(options.to) {}

 private:
  Result<FieldSpec> bind_field(const FieldSpec& in) override {
    return with_dtype(in, to_);
  }
  Status apply_field(const Value& in, Value& out, std::byte* buffer,
                     std::int64_t /*index*/,
                     const MapContext& /*context*/) const override {
    PLIMSOLL_RETURN_IF_ERROR(set_shape(out, in.shape));
    io::convert(in_spec().dtype, in.data, to_, buffer, in.shape.elements());
    return {};
  }

  DType to_;
};

// Converts to f32 and then calls `body(first, count, floats)` block by block.
// `block` elements at a time, so that a period keeps its place.
template <class Body>
void in_blocks(DType from, const std::byte* in, std::byte* out,
               std::int64_t count, std::int64_t block, Body&& body) {
  auto* floats = reinterpret_cast<float*>(out);
  for (std::int64_t first = 0; first < count; first += block) {
    const std::int64_t here = std::min(block, count - first);
    io::convert(from, in + first * size_of(from), DType::f32, floats + first,
                here);
    body(here, floats + first);
  }
}

class Scale : public OneFieldMap {
 public:
  explicit Scale(ScaleOptions options)
      : OneFieldMap("scale", std::move(options.field)),
        factor_(options.factor),
        offset_(options.offset) {}

 private:
  Result<FieldSpec> bind_field(const FieldSpec& in) override {
    return with_dtype(in, DType::f32);
  }
  Status apply_field(const Value& in, Value& out, std::byte* buffer,
                     std::int64_t /*index*/,
                     const MapContext& /*context*/) const override {
    PLIMSOLL_RETURN_IF_ERROR(set_shape(out, in.shape));
    in_blocks(
        in_spec().dtype, in.data, buffer, in.shape.elements(), kBlock,
        [factor = factor_, offset = offset_](std::int64_t count, float* x) {
          for (std::int64_t i = 0; i < count; ++i) {
            x[i] = x[i] * factor + offset;
          }
        });
    return {};
  }

  float factor_;
  float offset_;
};

class Normalise : public OneFieldMap {
 public:
  explicit Normalise(NormaliseOptions options)
      : OneFieldMap("normalise", std::move(options.field)),
        mean_(std::move(options.mean)),
        deviation_(std::move(options.deviation)) {}

 private:
  Result<FieldSpec> bind_field(const FieldSpec& in) override {
    const std::size_t period = std::max(mean_.size(), deviation_.size());
    const bool per_axis = period > 1;
    for (auto* list : {&mean_, &deviation_}) {
      if (list->size() == 1) list->resize(period, list->front());
      if (list->size() != period || period == 0) {
        return bad(
            fmt::format("{} means and {} deviations; give one, or one "
                        "for each of the last axis",
                        mean_.size(), deviation_.size()));
      }
    }
    const std::int64_t last =
        in.shape.rank == 0 ? std::int64_t{1} : in.shape[in.shape.rank - 1];
    if (per_axis && last != static_cast<std::int64_t>(period)) {
      return bad(
          fmt::format("{} means for a field of {}: the last axis should "
                      "have {}",
                      period, to_string(in.shape), period));
    }
    for (const float deviation : deviation_) {
      if (!(deviation > 0) || !std::isfinite(deviation)) {
        return bad(
            fmt::format("a deviation of {}; it should be above 0", deviation));
      }
    }
    // Repeated, so that the loop over them is long.
    while (mean_.size() < static_cast<std::size_t>(kBlock) / 2) {
      const std::size_t half = mean_.size();
      mean_.resize(2 * half);
      deviation_.resize(2 * half);
      std::copy_n(mean_.begin(), half, mean_.begin() + static_cast<long>(half));
      std::copy_n(deviation_.begin(), half,
                  deviation_.begin() + static_cast<long>(half));
    }
    return with_dtype(in, DType::f32);
  }

  Status apply_field(const Value& in, Value& out, std::byte* buffer,
                     std::int64_t /*index*/,
                     const MapContext& /*context*/) const override {
    PLIMSOLL_RETURN_IF_ERROR(set_shape(out, in.shape));
    in_blocks(in_spec().dtype, in.data, buffer, in.shape.elements(),
              static_cast<std::int64_t>(mean_.size()),
              [mean = mean_.data(), deviation = deviation_.data()](
                  std::int64_t count, float* x) {
                for (std::int64_t i = 0; i < count; ++i) {
                  x[i] = (x[i] - mean[i]) / deviation[i];
                }
              });
    return {};
  }

  std::vector<float> mean_;
  std::vector<float> deviation_;
};

class OneHot : public OneFieldMap {
 public:
  explicit OneHot(OneHotOptions options)
      : OneFieldMap("one_hot", std::move(options.field)),
        count_(options.count) {}

 private:
  Result<FieldSpec> bind_field(const FieldSpec& in) override {
    if (count_ < 1 || count_ > std::int64_t{1} << 31) {
      return bad(fmt::format("a count of {}; it should be at least 1", count_));
    }
    if (is_floating(in.dtype)) {
      return bad(fmt::format("a field of {}; cast it to i32 first",
                             name_of(in.dtype)));
    }
    if (in.shape.rank == kMostRank) {
      return bad(fmt::format("a field of {} has no room for one more axis",
                             to_string(in.shape)));
    }
    FieldSpec out = in;
    out.dtype = DType::f32;
    const std::int64_t rows = in.most_bytes / size_of(in.dtype);
    if (__builtin_mul_overflow(rows, count_ * 4, &out.most_bytes)) {
      return bad("more than memory can hold");
    }
    out.shape = with_count(in.shape);
    return out;
  }

  Status apply_field(const Value& in, Value& out, std::byte* buffer,
                     std::int64_t /*index*/,
                     const MapContext& /*context*/) const override {
    PLIMSOLL_RETURN_IF_ERROR(set_shape(out, with_count(in.shape)));
    auto* row = reinterpret_cast<float*>(buffer);
    std::fill_n(row, out.bytes / 4, 0.0f);
    const std::int64_t rows = in.shape.elements();
    const std::int64_t step = size_of(in_spec().dtype);
    for (std::int64_t i = 0; i < rows; ++i, row += count_) {
      std::int64_t value = 0;
      io::convert(in_spec().dtype, in.data + i * step, DType::i64, &value, 1);
      if (value < 0 || value >= count_) {
        return wrong(
            fmt::format("the value {} is no class; with a count of {} "
                        "they are 0 to {}",
                        value, count_, count_ - 1));
      }
      row[value] = 1;
    }
    return {};
  }

  Extents with_count(Extents shape) const {
    shape.sizes[static_cast<std::size_t>(shape.rank++)] = count_;
    return shape;
  }

  std::int64_t count_;
};

}  // namespace

std::unique_ptr<Map> cast(CastOptions options) {
  return std::make_unique<Cast>(std::move(options));
}
std::unique_ptr<Map> scale(ScaleOptions options) {
  return std::make_unique<Scale>(std::move(options));
}
std::unique_ptr<Map> normalise(NormaliseOptions options) {
  return std::make_unique<Normalise>(std::move(options));
}
std::unique_ptr<Map> one_hot(OneHotOptions options) {
  return std::make_unique<OneHot>(std::move(options));
}

}  // namespace plimsoll::data
