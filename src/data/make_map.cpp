#include "data/make_map.h"

#include <fmt/core.h>

#include "data/maps/decode.h"
#include "data/maps/geometry.h"
#include "data/maps/numeric.h"
#include "data/maps/pad.h"
#include "data/maps/parse_number.h"
#include "data/maps/rename.h"
#include "data/maps/resize.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kMostPixels = 65536;  // a side

using MapResult = Result<std::shared_ptr<Map>>;

MapResult made(std::unique_ptr<Map> map) {
  return std::shared_ptr<Map>(std::move(map));
}

FieldChoice field_of(const Recipe& recipe) {
  return {recipe.text("field", ""), 0};
}

std::vector<float> floats(const Recipe& recipe, std::string_view key) {
  const std::vector<double> wide = recipe.numbers(key);
  return {wide.begin(), wide.end()};
}

FlipAxis axis_of(const Recipe& recipe) {
  return recipe.text("axis", "left_right") == "up_down" ? FlipAxis::up_down
                                                        : FlipAxis::left_right;
}

// [height, width], or nothing.
Result<io::ImageSize> image_size(const Recipe& recipe, std::string_view key) {
  const auto sizes = recipe.integers(key);
  if (sizes.empty()) return io::ImageSize{};
  if (sizes.size() != 2 || sizes[0] < 1 || sizes[1] < 1 ||
      sizes[0] > kMostPixels || sizes[1] > kMostPixels) {
    return recipe.bad(fmt::format(
        "`{}` must be [height, width], each from 1 to {}", key, kMostPixels));
  }
  io::ImageSize size;
  size.height = static_cast<int>(sizes[0]);
  size.width = static_cast<int>(sizes[1]);
  return size;
}

Result<DType> dtype_of(const Recipe& recipe, const std::string& otherwise) {
  const std::string name = recipe.text("to", otherwise);
  const auto dtype = parse_dtype(name);
  if (dtype) return *dtype;
  return recipe.bad(fmt::format(
      "`to`: there is no type `{}`; use f32, f64, i32, u8, ...", name));
}

MapResult make_cast(const Recipe& recipe) {
  PLIMSOLL_ASSIGN(const DType to, dtype_of(recipe, ""));
  return made(cast({field_of(recipe), to}));
}

MapResult make_parse_number(const Recipe& recipe) {
  PLIMSOLL_ASSIGN(const DType to, dtype_of(recipe, "i32"));
  return made(parse_number({field_of(recipe), to}));
}

MapResult make_decode(const Recipe& recipe) {
  DecodeImageOptions options;
  options.field = field_of(recipe);
  options.channels = static_cast<int>(recipe.integer("channels", 3));
  PLIMSOLL_ASSIGN(options.largest, image_size(recipe, "largest"));
  PLIMSOLL_ASSIGN(options.at_least, image_size(recipe, "at_least"));
  PLIMSOLL_ASSIGN(options.resize_to, image_size(recipe, "resize"));
  options.progressive = recipe.flag("progressive", true);
  options.whole = recipe.flag("whole", true);
  if (recipe.text("dct", "exact") == "fast") options.dct = io::Dct::fast;
  return made(decode_image(options));
}

MapResult make_crop(const Recipe& recipe) {
  CropOptions options{field_of(recipe), recipe.integer("height", 0),
                      recipe.integer("width", 0)};
  const auto at = recipe.integers("at");
  if (!at.empty() && at.size() != 2) {
    return recipe.bad("`at` must be [top, left]");
  }
  if (!at.empty()) options.at = CropOffset{at[0], at[1]};
  return made(crop(options));
}

MapResult make_reshape(const Recipe& recipe) {
  PLIMSOLL_ASSIGN(const Extents shape,
                  extents_of("`shape`", recipe.integers("shape")));
  return made(reshape({field_of(recipe), shape}));
}

MapResult make_pad(const Recipe& recipe) {
  PadOptions options;
  options.field = field_of(recipe);
  PLIMSOLL_ASSIGN(options.shape,
                  extents_of("`shape`", recipe.integers("shape")));
  options.value = recipe.number("value", 0);
  return made(pad(options));
}

}  // namespace

MapResult make_map(const Recipe& recipe, bool chance, std::uint64_t salt) {
  if (recipe.map) return recipe.map();
  const std::string& name = recipe.name;
  const std::int64_t height = recipe.integer("height", 0);
  const std::int64_t width = recipe.integer("width", 0);
  if (name == "cast") return make_cast(recipe);
  if (name == "decode_image") return make_decode(recipe);
  if (name == "crop") return make_crop(recipe);
  if (name == "reshape") return make_reshape(recipe);
  if (name == "padded_batch") return make_pad(recipe);
  if (name == "rename") {
    return made(rename({recipe.text("field", ""), 0}, recipe.text("to", "")));
  }
  if (name == "parse_number") return make_parse_number(recipe);
  if (name == "scale") {
    return made(
        scale({field_of(recipe), static_cast<float>(recipe.number("factor", 1)),
               static_cast<float>(recipe.number("offset", 0))}));
  }
  if (name == "normalise") {
    return made(normalise({field_of(recipe), floats(recipe, "mean"),
                           floats(recipe, "deviation")}));
  }
  if (name == "one_hot") {
    FieldChoice field = field_of(recipe);
    // Labels are what is usually meant.
    if (field.name.empty()) field.name = "labels";
    return made(one_hot({field, recipe.integer("count", 0)}));
  }
  if (name == "resize") {
    return made(resize({field_of(recipe), height, width,
                        recipe.text("method", "bilinear") == "nearest"
                            ? ResizeMethod::nearest
                            : ResizeMethod::bilinear}));
  }
  if (name == "random_crop") {
    if (!chance) return made(crop({field_of(recipe), height, width}));
    return made(random_crop({field_of(recipe), height, width, salt}));
  }
  if (name == "flip") return made(flip({field_of(recipe), axis_of(recipe)}));
  if (name == "random_flip") {
    return made(random_flip(
        {field_of(recipe), axis_of(recipe),
         static_cast<float>(recipe.number("probability", 0.5)), salt}));
  }
  return recipe.bad(fmt::format("there is no map `{}`", name));
}

}  // namespace plimsoll::data
