#include "data/maps/resize.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "data/maps/resize_loops.h"
#include "data/maps/scratch_pieces.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kMostSide = 1 << 20;
constexpr std::int64_t kMostChannels = 1024;  // numbers of floats fit i32
// A row of the input is brought into scratch as f32 if it is no longer; its
// longest is only known where the width is fixed.
constexpr std::int64_t kMostVaryingRow = 32 * 1024;  // floats

class Resize : public OneFieldMap {
 public:
  explicit Resize(ResizeOptions options)
      : OneFieldMap("resize", std::move(options.field)),
        height_(options.height),
        width_(options.width) {}

 protected:
  // What both methods ask of the field; sets channels_.
  Result<FieldSpec> resized(const FieldSpec& in, DType dtype) {
    const int rank = in.shape.rank;
    if (rank != 2 && rank != 3) {
      return bad(
          fmt::format("a field of {}; it should be [height, width] or "
                      "[height, width, channels]",
                      to_string(in.shape)));
    }
    const auto within = [](std::int64_t side) {
      return side >= 1 && side <= kMostSide;
    };
    if (!within(height_) || !within(width_)) {
      return bad(fmt::format("to {} by {} pixels; 1 to {} a side can be had",
                             width_, height_, kMostSide));
    }
    channels_ = rank == 3 ? in.shape[2] : 1;
    if (channels_ == kVaries) {
      return bad(
          fmt::format("a field of {}: say how many channels images have "
                      "where they are decoded",
                      to_string(in.shape)));
    }
    if (channels_ < 1 || channels_ > kMostChannels) {
      return bad(fmt::format("{} channels; 1 to {} can be had", channels_,
                             kMostChannels));
    }
    for (int axis = 0; axis < 2; ++axis) {
      if (in.shape[axis] == kVaries) continue;
      PLIMSOLL_RETURN_IF_ERROR(check_side(in.shape[axis]));
    }
    FieldSpec out = in;
    out.dtype = dtype;
    out.shape.sizes[0] = height_;
    out.shape.sizes[1] = width_;
    PLIMSOLL_ASSIGN(const std::int64_t count, checked_elements(out.shape));
    out.most_bytes = count * size_of(dtype);
    fixed_ = in.shape.is_fixed();
    return out;
  }

  Status check_side(std::int64_t side) const {
    if (side >= 1 && side <= kMostSide) return {};
    return wrong(
        fmt::format("an image side of {} pixels; 1 to {} can be "
                    "resized",
                    side, kMostSide));
  }
  Status check_image(const Extents& shape) const {
    PLIMSOLL_RETURN_IF_ERROR(check_side(shape[0]));
    return check_side(shape[1]);
  }

  std::int64_t height_;
  std::int64_t width_;
  std::int64_t channels_ = 1;
  bool fixed_ = false;  // all sizes: tables are made once
};

class Bilinear : public Resize {
 public:
  using Resize::Resize;

  std::int64_t scratch_bytes() const override {
    ScratchPieces pieces(nullptr);
    take_rows(pieces);
    if (!fixed_) take_tables(pieces);
    return pieces.bytes();
  }

 private:
  struct Tables {
    BetweenTable across;
    BetweenTable down;
  };
  struct Rows {
    float* made[2];  // resized across
    float* read;     // as it is, in f32
  };

  Result<FieldSpec> bind_field(const FieldSpec& in) override {
    if (in.dtype != DType::u8 && in.dtype != DType::f32) {
      return bad(
          fmt::format("a field of {}; u8 and f32 are resized "
                      "bilinearly: cast it first",
                      name_of(in.dtype)));
    }
    PLIMSOLL_ASSIGN(FieldSpec out, resized(in, DType::f32));
    const std::int64_t widest = in.shape[1] == kVaries
                                    ? in.most_bytes / size_of(in.dtype)
                                    : in.shape[1] * channels_;
    row_floats_ =
        in.shape[1] == kVaries ? std::min(widest, kMostVaryingRow) : widest;
    if (fixed_) {
      ScratchPieces sizes(nullptr);
      take_tables(sizes);
      table_memory_.resize(static_cast<std::size_t>(sizes.bytes()));
      ScratchPieces pieces(table_memory_.data());
      tables_ = take_tables(pieces);
      fill(tables_, in.shape);
    }
    return out;
  }

  Tables take_tables(ScratchPieces& pieces) const {
    return {take_table(pieces, width_), take_table(pieces, height_)};
  }

  void fill(const Tables& tables, const Extents& in) const {
    fill_between(in[1], channels_, tables.across);
    fill_between(in[0], 1, tables.down);
  }

  Rows take_rows(ScratchPieces& pieces) const {
    const std::int64_t made = width_ * channels_ + kRowRoom;
    return {{pieces.take<float>(made), pieces.take<float>(made)},
            pieces.take<float>(row_floats_ + kRowRoom)};
  }

  // Row `y` of the input, resized across.
  void make_row(const Value& in, std::int64_t y, const BetweenTable& table,
                float* read, float* made) const {
    const std::int64_t count = in.shape[1] * channels_;
    const std::byte* row = in.data + y * count * size_of(in_spec().dtype);
    const ResizeLoops& loops = resize_loops();
    const bool bytes = in_spec().dtype == DType::u8;
    if (count > row_floats_) {
      bytes ? make_long_row<std::uint8_t>(row, table, made)
            : make_long_row<float>(row, table, made);
      return;
    }
    if (bytes) {
      loops.widen(reinterpret_cast<const std::uint8_t*>(row), count, read);
    } else {
      // Also brings it to an address of floats and room behind it.
      std::memcpy(read, row, static_cast<std::size_t>(count) * sizeof(float));
    }
    std::fill_n(read + count, kRowRoom, 0.0f);
    loops.across(read, table, channels_, made);
  }

  // Without a copy in f32: longer than scratch has room for.
  template <class T>
  void make_long_row(const std::byte* row, const BetweenTable& table,
                     float* made) const {
    const auto load = [&](std::int64_t at) {
      T value;
      std::memcpy(&value, row + at * static_cast<std::int64_t>(sizeof(T)),
                  sizeof(T));
      return static_cast<float>(value);
    };
    for (std::int64_t x = 0; x < table.count; ++x) {
      for (std::int64_t c = 0; c < channels_; ++c) {
        const float left = load(table.lower[x] + c);
        const float right = load(table.upper[x] + c);
        *made++ = left + (right - left) * table.part[x];
      }
    }
  }

  Status apply_field(const Value& in, Value& out, std::byte* buffer,
                     std::int64_t /*index*/,
                     const MapContext& context) const override {
    PLIMSOLL_RETURN_IF_ERROR(check_image(in.shape));
    PLIMSOLL_RETURN_IF_ERROR(set_shape(out, out_spec().shape));
    ScratchPieces pieces(context.scratch.data());
    Rows rows = take_rows(pieces);
    Tables tables = tables_;
    if (!fixed_) {
      tables = take_tables(pieces);
      fill(tables, in.shape);
    }
    const ResizeLoops& loops = resize_loops();
    const std::int64_t row_floats = width_ * channels_;
    auto* to = reinterpret_cast<float*>(buffer);
    // Rows made across last: neighbours below one another share them.
    std::int64_t number[2] = {-1, -1};
    const auto have = [&](int place, std::int64_t y) {
      if (number[place] == y) return;
      make_row(in, y, tables.across, rows.read, rows.made[place]);
      number[place] = y;
    };
    for (std::int64_t y = 0; y < height_; ++y, to += row_floats) {
      const std::int64_t lower = tables.down.lower[y];
      const std::int64_t upper = tables.down.upper[y];
      if (number[1] == lower) {
        std::swap(number[0], number[1]);
        std::swap(rows.made[0], rows.made[1]);
      }
      have(0, lower);
      if (upper == lower) {
        std::memcpy(to, rows.made[0],
                    static_cast<std::size_t>(row_floats) * sizeof(float));
        continue;
      }
      have(1, upper);
      loops.down(rows.made[0], rows.made[1], tables.down.part[y], row_floats,
                 to);
    }
    return {};
  }

  std::int64_t row_floats_ = 0;
  std::vector<std::byte> table_memory_;  // where the size is fixed
  Tables tables_;
};

template <std::int64_t kPixel>
void pick_fixed(const std::byte* row, const std::int32_t* from,
                std::int64_t width, std::byte* out) {
  for (std::int64_t x = 0; x < width; ++x) {
    std::memcpy(out + x * kPixel, row + from[x] * kPixel, kPixel);
  }
}

void pick(const std::byte* row, const std::int32_t* from, std::int64_t width,
          std::int64_t pixel, std::byte* out) {
  switch (pixel) {
    case 1:
      return pick_fixed<1>(row, from, width, out);
    case 3:
      return pick_fixed<3>(row, from, width, out);
    case 4:
      return pick_fixed<4>(row, from, width, out);
    case 12:
      return pick_fixed<12>(row, from, width, out);
    default:
      for (std::int64_t x = 0; x < width; ++x) {
        std::memcpy(out + x * pixel, row + from[x] * pixel,
                    static_cast<std::size_t>(pixel));
      }
  }
}

class Nearest : public Resize {
 public:
  using Resize::Resize;

  std::int64_t scratch_bytes() const override {
    ScratchPieces pieces(nullptr);
    take_tables(pieces);
    return pieces.bytes();
  }

 private:
  struct Tables {
    std::int32_t* across;
    std::int32_t* down;
  };
  Result<FieldSpec> bind_field(const FieldSpec& in) override {
    return resized(in, in.dtype);
  }
  Tables take_tables(ScratchPieces& pieces) const {
    return {pieces.take<std::int32_t>(width_),
            pieces.take<std::int32_t>(height_)};
  }

  // The tables are small beside the image: made anew for each.
  Status apply_field(const Value& in, Value& out, std::byte* buffer,
                     std::int64_t /*index*/,
                     const MapContext& context) const override {
    PLIMSOLL_RETURN_IF_ERROR(check_image(in.shape));
    PLIMSOLL_RETURN_IF_ERROR(set_shape(out, out_spec().shape));
    ScratchPieces pieces(context.scratch.data());
    const Tables tables = take_tables(pieces);
    fill_nearest(in.shape[1], width_, tables.across);
    fill_nearest(in.shape[0], height_, tables.down);
    const std::int64_t pixel = channels_ * size_of(in_spec().dtype);
    const std::int64_t row = width_ * pixel;
    for (std::int64_t y = 0; y < height_; ++y, buffer += row) {
      if (y > 0 && tables.down[y] == tables.down[y - 1]) {
        std::memcpy(buffer, buffer - row, static_cast<std::size_t>(row));
        continue;
      }
      pick(in.data + tables.down[y] * in.shape[1] * pixel, tables.across,
           width_, pixel, buffer);
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<Map> resize(ResizeOptions options) {
  if (options.method == ResizeMethod::nearest) {
    return std::make_unique<Nearest>(std::move(options));
  }
  return std::make_unique<Bilinear>(std::move(options));
}

}  // namespace plimsoll::data
