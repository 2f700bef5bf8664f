#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/maps/decode.h"
#include "data/maps/map_runner.h"
#include "data/maps/resize.h"
#include "io/image_encoders.h"

namespace plimsoll::data {
namespace {

constexpr io::ImageSize kLargest{300, 200};

Array file_of(const std::string& bytes) {
  const std::vector<char> values(bytes.begin(), bytes.end());
  return varying(
      array_of(DType::u8, {static_cast<std::int64_t>(bytes.size())}, values),
      {0});
}

DecodeImageOptions options_for(int channels, io::ImageSize to) {
  DecodeImageOptions options;
  options.channels = channels;
  options.largest = kLargest;
  options.resize_to = to;
  return options;
}

struct Difference {
  double mean = 1000;
  double most = 1000;
};

// Between decoding straight to a size and decoding first, then resizing.
Difference difference(const std::string& file, int channels, io::ImageSize to,
                      io::ImageSize at_least = {}) {
  DecodeImageOptions options = options_for(channels, to);
  options.at_least = at_least;
  const auto straight = MapRunner(decode_image(options)).run(file_of(file));
  options.resize_to = {};
  const auto decoded = MapRunner(decode_image(options)).run(file_of(file));
  if (!straight || !decoded) return {};
  const auto resized =
      MapRunner(resize({{}, to.height, to.width})).run(*decoded);
  EXPECT_TRUE(resized);
  EXPECT_EQ(straight->spec,
            fixed_field("x", DType::f32, {to.height, to.width, channels}));
  EXPECT_EQ(straight->shape, resized->shape);
  const auto got = values_of<float>(*straight);
  const auto expected = values_of<float>(*resized);
  if (got.size() != expected.size()) return {};
  Difference out{0, 0};
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(got[i] >= 0 && got[i] <= 255) << got[i];
    const double apart = std::fabs(double{got[i]} - double{expected[i]});
    out.mean += apart / static_cast<double>(got.size());
    out.most = std::max(out.most, apart);
  }
  return out;
}

const io::ImageSize kSizes[] = {{1, 1},   {1, 7},    {7, 1},   {2, 2},
                                {15, 17}, {101, 75}, {64, 64}, {255, 3},
                                {3, 199}, {300, 200}};
const io::ImageSize kTargets[] = {{64, 48}, {1, 1}, {31, 90}, {224, 224}};

TEST(DecodeResized, GreyIsTheSameUpToRounding) {
  for (const auto [width, height] : kSizes) {
    const std::string grey =
        io::jpeg_file(io::random_picture(width, height, 1));
    const std::string colour =
        io::jpeg_file(io::random_picture(width, height, 3));
    for (const io::ImageSize to : kTargets) {
      EXPECT_LT(difference(grey, 1, to).most, 1e-3);
      EXPECT_LT(difference(grey, 3, to).most, 1e-3);
      EXPECT_LT(difference(grey, 4, to).most, 1e-3);
      EXPECT_LT(difference(colour, 1, to).most, 1e-3);
    }
  }
}

// Of smooth and of rough pictures in all sizes, the largest of each.
Difference worst(const io::JpegStyle& style) {
  Difference out{0, 0};
  for (const auto [width, height] : kSizes) {
    for (const io::Picture& picture : {io::smooth_picture(width, height, 3),
                                       io::rough_picture(width, height, 3)}) {
      const std::string file = io::jpeg_file(picture, style);
      for (const io::ImageSize to : kTargets) {
        const Difference found = difference(file, 3, to);
        out.most = std::max(out.most, found.most);
        // A mean of one pixel is none.
        if (to != io::ImageSize{1, 1}) {
          out.mean = std::max(out.mean, found.mean);
        }
      }
    }
  }
  return out;
}

TEST(DecodeResized, ColoursAreTheSameWithinALevelInTheMean) {
  for (const bool progressive : {false, true}) {
    for (const int across : {1, 2}) {
      for (const int down : {1, 2}) {
        io::JpegStyle style;
        style.progressive = progressive;
        style.sampling_across = across;
        style.sampling_down = down;
        const Difference found = worst(style);
        const bool full = across == 1 && down == 1;
        EXPECT_LT(found.mean, full ? 0.5 : 1) << across << " " << down;
        // Up to the rounding of pixels, where colours are not coarser.
        EXPECT_LT(found.most, full ? 0.51 : 8) << across << " " << down;
      }
    }
  }
}

// Decoding to pixels repeats colours four times coarser; here they are
// interpolated.
TEST(DecodeResized, VeryCoarseColoursAreNear) {
  for (const int down : {1, 2}) {
    io::JpegStyle style;
    style.sampling_across = 4;
    style.sampling_down = down;
    const Difference found = worst(style);
    EXPECT_LT(found.mean, 4);
    EXPECT_LT(found.most, 20);
  }
}

TEST(DecodeResized, ChanceIsKeptWithinTheLevels) {
  for (const int quality : {1, 50, 100}) {
    io::JpegStyle style;
    style.quality = quality;
    const std::string file =
        io::jpeg_file(io::random_picture(300, 200, 3), style);
    EXPECT_LT(difference(file, 3, {224, 224}).mean, 6) << quality;
    EXPECT_LT(difference(file, 4, {64, 48}).mean, 6) << quality;
  }
}

TEST(DecodeResized, OtherImagesAreDecodedWhole) {
  io::JpegStyle cmyk;
  cmyk.cmyk = true;
  io::JpegStyle rgb;
  rgb.rgb = true;
  rgb.sampling_across = rgb.sampling_down = 1;
  const std::string files[] = {
      io::png_file(io::random_picture(101, 75, 3)),
      io::png_file(io::random_picture(101, 75, 1), {.interlaced = true}),
      io::jpeg_file(io::smooth_picture(101, 75, 4), cmyk)};
  for (const io::ImageSize to : kTargets) {
    for (const std::string& file : files) {
      EXPECT_EQ(difference(file, 3, to).most, 0);
      EXPECT_EQ(difference(file, 4, to).most, 0);
    }
    // RGB is planes as they are, and grey only by its pixels.
    const std::string planes =
        io::jpeg_file(io::rough_picture(101, 75, 3), rgb);
    EXPECT_LT(difference(planes, 3, to).most, 1e-3);
    EXPECT_EQ(difference(planes, 1, to).most, 0);
  }
  DecodeImageOptions options = options_for(3, {64, 48});
  options.whole = false;
  MapRunner without(decode_image(options));
  EXPECT_TRUE(has(without.refusal(file_of(files[0])),
                  "a PNG; it has to be decoded whole"));
  EXPECT_TRUE(has(without.refusal(file_of(files[2])),
                  "a JPEG of unusual colours; it has to"));
  EXPECT_TRUE(
      without.run(file_of(io::jpeg_file(io::smooth_picture(101, 75, 3)))));
}

TEST(DecodeResized, StripsTakeLittleMemory) {
  DecodeImageOptions options;
  options.largest = {4000, 3000};
  options.resize_to = {224, 224};
  options.progressive = options.whole = false;
  const auto map = decode_image(options);
  const Array file = file_of("");
  ASSERT_TRUE(map->bind({file.spec}));
  EXPECT_LT(map->scratch_bytes(), 1'000'000);
}

TEST(DecodeResized, DecodesSmallerFirstWhereAsked) {
  const std::string file = io::jpeg_file(io::rough_picture(300, 200, 3));
  for (int eighth = 1; eighth <= 8; ++eighth) {
    const io::ImageSize at_least{300 * eighth / 8, 200 * eighth / 8};
    const Difference found = difference(file, 3, {30, 20}, at_least);
    EXPECT_LT(found.mean, 1.2) << eighth;
    EXPECT_LT(difference(file, 1, {30, 20}, at_least).most, 1e-3) << eighth;
  }
}

TEST(DecodeResized, TheFastTransformIsAFewLevelsApart) {
  const Array file = file_of(io::jpeg_file(io::rough_picture(300, 200, 3)));
  for (const io::ImageSize to : {io::ImageSize{}, io::ImageSize{300, 200}}) {
    DecodeImageOptions options = options_for(3, to);
    const auto exact = MapRunner(decode_image(options)).run(file);
    options.dct = io::Dct::fast;
    const auto fast = MapRunner(decode_image(options)).run(file);
    ASSERT_TRUE(exact && fast);
    const auto levels = [&](const Array& image) {
      if (to != io::ImageSize{}) return values_of<float>(image);
      const auto bytes = values_of<std::uint8_t>(image);
      return std::vector<float>(bytes.begin(), bytes.end());
    };
    const auto a = levels(*exact);
    const auto b = levels(*fast);
    double apart = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      apart += std::fabs(a[i] - b[i]) / static_cast<double>(a.size());
    }
    EXPECT_GT(apart, 0);
    EXPECT_LT(apart, 2);
  }
}

TEST(DecodeResized, RefusesWhatCannotBe) {
  const std::string good = io::jpeg_file(io::smooth_picture(40, 30, 3));
  const Array file = file_of(good);
  EXPECT_TRUE(has(MapRunner(decode_image(options_for(0, {8, 8}))).refusal(file),
                  "0 channels (as stored); images to be resized have"));
  EXPECT_TRUE(has(MapRunner(decode_image(options_for(3, {8, 0}))).refusal(file),
                  "to 8 by 0 pixels"));
  EXPECT_TRUE(
      has(MapRunner(decode_image(options_for(3, {-1, 9}))).refusal(file),
          "to -1 by 9 pixels"));
  MapRunner runner(decode_image(options_for(3, {8, 8})));
  ASSERT_TRUE(runner.bind({file}));
  const auto large =
      runner.apply({file_of(io::jpeg_file(io::smooth_picture(301, 8, 3)))});
  EXPECT_TRUE(has(large.error().message,
                  "an image of 301 by 8 pixels; 300 by 200 were declared"));
  for (std::size_t size = 0; size < good.size() - 2; size += 5) {
    const auto cut = runner.apply({file_of(good.substr(0, size))});
    ASSERT_FALSE(cut);
    EXPECT_TRUE(has(cut.error().message, size < 3 ? "neither JPEG nor PNG"
                                                  : "truncated image at byte"))
        << cut.error().message;
  }
  io::JpegStyle style;
  style.progressive = true;
  DecodeImageOptions options = options_for(3, {8, 8});
  options.progressive = false;
  options.whole = false;
  EXPECT_TRUE(has(MapRunner(decode_image(options))
                      .refusal(file_of(io::jpeg_file(
                          io::smooth_picture(300, 200, 3), style))),
                  "bytes of scratch; there are"));
}

}  // namespace
}  // namespace plimsoll::data
