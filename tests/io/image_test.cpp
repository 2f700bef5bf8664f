#include "io/image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "io/image_encoders.h"

namespace plimsoll::io {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::span<const std::byte> bytes_of(const std::string& file) {
  return std::as_bytes(std::span(file));
}

struct Decoded {
  DecodedImage image;
  std::vector<std::uint8_t> pixels;
};

// Decodes into memory of just the sizes that the header calls for.
Result<Decoded> decode(const std::string& file,
                       const DecodeOptions& options = {}) {
  PLIMSOLL_ASSIGN(const ImageInfo info, image_info(bytes_of(file)));
  Decoded out;
  out.pixels.resize(
      static_cast<std::size_t>(decoded_as(info, options).bytes()));
  std::vector<std::byte> scratch(static_cast<std::size_t>(info.scratch_bytes));
  PLIMSOLL_ASSIGN(
      out.image,
      decode_image(bytes_of(file), options,
                   std::as_writable_bytes(std::span(out.pixels)), scratch));
  return out;
}

std::string refusal(const std::string& file,
                    const DecodeOptions& options = {}) {
  const auto decoded = decode(file, options);
  return decoded ? "(decoded)" : decoded.error().message;
}

// The largest difference of two pictures.
int distance(const std::vector<std::uint8_t>& a,
             const std::vector<std::uint8_t>& b) {
  if (a.size() != b.size()) return 1000;
  int most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(int{a[i]} - int{b[i]}));
  }
  return most;
}

TEST(Jpeg, DecodesEveryKindWithinTheScratchItsHeaderCallsFor) {
  for (const int width : {1, 7, 16, 33, 640}) {
    for (const bool progressive : {false, true}) {
      for (const int across : {1, 2, 4}) {
        for (const int down : {1, 2}) {
          const Picture picture = smooth_picture(width, 45, 3);
          JpegStyle style;
          style.progressive = progressive;
          style.sampling_across = across;
          style.sampling_down = down;
          const auto decoded = decode(jpeg_file(picture, style));
          ASSERT_TRUE(decoded) << decoded.error().message;
          EXPECT_EQ(decoded->image.size, (ImageSize{width, 45}));
          EXPECT_EQ(decoded->image.channels, 3);
          EXPECT_LE(distance(decoded->pixels, picture.pixels), 40)
              << width << " " << progressive << " " << across << down;
        }
      }
    }
  }
}

TEST(Jpeg, DecodesSeveralScansAndArithmeticCoding) {
  const Picture picture = smooth_picture(50, 40, 3);
  JpegStyle style;
  style.several_scans = true;
  const std::string scans = jpeg_file(picture, style);
  const std::string plain = jpeg_file(picture, {});
  EXPECT_EQ(decode(scans)->pixels, decode(plain)->pixels);
  // All coefficients wait for the last scan.
  EXPECT_GT(image_info(bytes_of(scans))->scratch_bytes,
            image_info(bytes_of(plain))->scratch_bytes + 50 * 40);
  style.several_scans = false;
  style.arithmetic = true;
  EXPECT_EQ(decode(jpeg_file(picture, style))->pixels, decode(plain)->pixels);
}

TEST(Jpeg, GivesTheChannelsAskedFor) {
  const Picture grey = smooth_picture(20, 10, 1);
  const std::string grey_file = jpeg_file(grey);
  EXPECT_EQ(image_info(bytes_of(grey_file))->channels, 1);
  const auto as_rgb = decode(grey_file, {.channels = 3});
  ASSERT_TRUE(as_rgb);
  EXPECT_EQ(as_rgb->pixels[3], as_rgb->pixels[5]);
  const std::string colour_file = jpeg_file(smooth_picture(20, 10, 3));
  const auto as_rgba = decode(colour_file, {.channels = 4});
  ASSERT_TRUE(as_rgba);
  EXPECT_EQ(as_rgba->pixels[7], 255);
  EXPECT_EQ(as_rgba->pixels[4], decode(colour_file)->pixels[3]);
  const auto as_grey = decode(colour_file, {.channels = 1});
  ASSERT_TRUE(as_grey);
  EXPECT_EQ(as_grey->pixels.size(), 200u);
  EXPECT_TRUE(has(refusal(colour_file, {.channels = 2}),
                  "2 channels asked for; 1, 3, 4 or 0"));
}

TEST(Jpeg, CmykBecomesRgb) {
  Picture ink = smooth_picture(24, 16, 4);
  for (const bool adobe : {false, true}) {
    JpegStyle style;
    style.cmyk = true;
    style.adobe = adobe;
    style.sampling_across = style.sampling_down = 1;
    style.quality = 100;
    const std::string file = jpeg_file(ink, style);
    const auto decoded = decode(file);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(decoded->image.channels, 3);
    std::vector<std::uint8_t> expected;
    for (std::size_t i = 0; i < ink.pixels.size(); i += 4) {
      for (std::size_t c = 0; c < 3; ++c) {
        const int light = adobe ? ink.pixels[i + c] : 255 - ink.pixels[i + c];
        const int rest = adobe ? ink.pixels[i + 3] : 255 - ink.pixels[i + 3];
        expected.push_back(static_cast<std::uint8_t>(light * rest / 255));
      }
    }
    EXPECT_LE(distance(decoded->pixels, expected), 6);
    EXPECT_TRUE(has(refusal(file, {.channels = 1}), "a CMYK JPEG"));
    EXPECT_EQ(decode(file, {.channels = 4})->pixels[3], 255);
  }
}

TEST(Jpeg, DecodesAtASmallerSize) {
  const std::string file = jpeg_file(smooth_picture(100, 60, 3));
  const auto size = [&](int width, int height) {
    const auto decoded = decode(file, {.at_least = {width, height}});
    EXPECT_TRUE(decoded);
    return decoded->image.size;
  };
  EXPECT_EQ(size(1, 1), (ImageSize{13, 8}));
  EXPECT_EQ(size(13, 8), (ImageSize{13, 8}));
  EXPECT_EQ(size(14, 8), (ImageSize{25, 15}));
  EXPECT_EQ(size(25, 16), (ImageSize{38, 23}));
  EXPECT_EQ(size(89, 1), (ImageSize{100, 60}));
  EXPECT_EQ(size(500, 500), (ImageSize{100, 60}));
  EXPECT_EQ(size(0, 30), (ImageSize{50, 30}));
  // Every scale of every sampling keeps to the scratch of the whole.
  for (const int down : {1, 2, 4}) {
    JpegStyle style;
    style.sampling_across = 1;
    style.sampling_down = down;
    const std::string other = jpeg_file(smooth_picture(1000, 64, 3), style);
    for (int eighth = 1; eighth <= 8; ++eighth) {
      const auto decoded = decode(other, {.at_least = {125 * eighth, 1}});
      ASSERT_TRUE(decoded) << decoded.error().message;
      EXPECT_EQ(decoded->image.eighths, eighth);
    }
  }
}

TEST(Jpeg, EveryTruncationIsRefused) {
  for (const bool progressive : {false, true}) {
    JpegStyle style;
    style.progressive = progressive;
    const std::string good = jpeg_file(smooth_picture(40, 30, 3), style);
    for (std::size_t size = 3; size < good.size() - 2; ++size) {
      const std::string error = refusal(good.substr(0, size));
      ASSERT_TRUE(has(error, "truncated image at byte " + std::to_string(size)))
          << size << ": " << error;
    }
    // Cut and then ended properly: the data stops short.
    const std::string cut = good.substr(0, good.size() * 2 / 3) + "\xff\xd9";
    EXPECT_NE(refusal(cut), "(decoded)");
  }
}

TEST(Jpeg, ClaimsCostNothing) {
  std::string file = jpeg_file(smooth_picture(16, 16, 3));
  const auto frame = file.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  file.replace(frame + 5, 4, "\xff\x00\xff\x00", 4);
  file[frame + 6] = '\xdc';  // 65500 by 65280
  file[frame + 8] = '\xdc';
  const auto info = image_info(bytes_of(file));
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->width, 65500);
  std::vector<std::byte> few(1000);
  const auto decoded = decode_image(bytes_of(file), {}, few, few);
  ASSERT_FALSE(decoded);
  EXPECT_TRUE(has(decoded.error().message,
                  "takes 12870750000 bytes; there is "
                  "room for 1000"));
}

TEST(Jpeg, RefusesScansWithoutEnd) {
  JpegStyle style;
  style.several_scans = true;
  const std::string file = jpeg_file(smooth_picture(16, 16, 3), style);
  // The last scan again and again.
  const auto last = file.rfind("\xff\xda");
  const std::string scan = file.substr(last, file.size() - 2 - last);
  std::string many = file.substr(0, file.size() - 2);
  for (int i = 0; i < 300; ++i) many += scan;
  EXPECT_TRUE(has(refusal(many + "\xff\xd9"), "more than 200 scans"));
}

TEST(Jpeg, GoodFilesDecodeAfterBadOnesAndOnManyThreads) {
  const Picture picture = smooth_picture(64, 64, 3);
  const std::string good = jpeg_file(picture);
  const auto expected = decode(good)->pixels;
  const auto work = [&] {
    for (std::size_t i = 0; i < 50; ++i) {
      EXPECT_FALSE(decode(good.substr(0, 10 + i * 20)));
      const auto decoded = decode(good);
      ASSERT_TRUE(decoded);
      EXPECT_EQ(decoded->pixels, expected);
    }
  };
  std::thread other(work);
  work();
  other.join();
}

TEST(Png, DecodesEveryKind) {
  for (const int channels : {1, 2, 3, 4}) {
    for (const bool interlaced : {false, true}) {
      for (const int width : {1, 5, 64}) {
        const Picture picture = smooth_picture(width, 19, channels);
        PngStyle style;
        style.interlaced = interlaced;
        style.texts = true;
        const auto decoded = decode(png_file(picture, style));
        ASSERT_TRUE(decoded) << decoded.error().message;
        EXPECT_EQ(decoded->image.channels, channels);
        EXPECT_EQ(decoded->pixels, picture.pixels);
        style.bits = 16;
        EXPECT_EQ(decode(png_file(picture, style))->pixels, picture.pixels);
      }
    }
  }
}

TEST(Png, DecodesFewBitsAndPalettes) {
  const Picture picture = smooth_picture(13, 11, 1);
  for (const int bits : {1, 2, 4}) {
    const auto decoded = decode(png_file(picture, {.bits = bits}));
    ASSERT_TRUE(decoded);
    for (std::size_t i = 0; i < picture.pixels.size(); ++i) {
      const int most = (1 << bits) - 1;
      ASSERT_EQ(decoded->pixels[i],
                (picture.pixels[i] >> (8 - bits)) * 255 / most);
    }
  }
  const int colours[4][4] = {
      {255, 0, 0, 0}, {0, 255, 0, 128}, {0, 0, 255, 255}, {9, 8, 7, 255}};
  for (const int bits : {2, 8}) {
    for (const bool transparent : {false, true}) {
      const auto decoded = decode(png_file(
          picture,
          {.bits = bits, .palette = true, .transparent = transparent}));
      ASSERT_TRUE(decoded) << decoded.error().message;
      const int channels = transparent ? 4 : 3;
      ASSERT_EQ(decoded->image.channels, channels);
      for (std::size_t i = 0; i < decoded->pixels.size(); ++i) {
        const std::size_t pixel = i / static_cast<std::size_t>(channels);
        ASSERT_EQ(decoded->pixels[i],
                  colours[picture.pixels[pixel] >> 6]
                         [i % static_cast<std::size_t>(channels)]);
      }
    }
  }
}

TEST(Png, GivesTheChannelsAskedFor) {
  const Picture rgba = smooth_picture(9, 8, 4);
  const std::string file = png_file(rgba);
  const auto rgb = decode(file, {.channels = 3});
  ASSERT_TRUE(rgb);
  EXPECT_EQ(rgb->pixels[3], rgba.pixels[4]);
  const auto grey = decode(file, {.channels = 1});
  ASSERT_TRUE(grey);
  const double luma =
      0.299 * rgba.pixels[0] + 0.587 * rgba.pixels[1] + 0.114 * rgba.pixels[2];
  EXPECT_NEAR(grey->pixels[0], luma, 1);
  const auto filled =
      decode(png_file(smooth_picture(9, 8, 1)), {.channels = 4});
  ASSERT_TRUE(filled);
  EXPECT_EQ(filled->pixels[2], filled->pixels[0]);
  EXPECT_EQ(filled->pixels[3], 255);
  // Transparency of a colour counts as a channel.
  const std::string transparent =
      png_file(smooth_picture(9, 8, 3), {.transparent = true});
  EXPECT_EQ(image_info(bytes_of(transparent))->channels, 4);
  EXPECT_EQ(decode(transparent)->image.channels, 4);
}

TEST(Png, EveryTruncationIsRefused) {
  const std::string good = png_file(smooth_picture(20, 20, 3));
  for (std::size_t size = 8; size < good.size(); ++size) {
    ASSERT_TRUE(has(refusal(good.substr(0, size)),
                    "truncated image at byte " + std::to_string(size)))
        << size << ": " << refusal(good.substr(0, size));
  }
}

TEST(Png, ClaimsCostNothing) {
  std::string file = png_file(smooth_picture(16, 16, 3));
  file.replace(16, 8, std::string("\x7f\xff\xff\xff\x7f\xff\xff\xff", 8));
  EXPECT_TRUE(has(refusal(file),
                  "2147483647 by 2147483647 pixels; at most "
                  "1000000 a side"));
  file.replace(16, 8, std::string("\0\0\xf0\0\0\0\xf0\0", 8));
  std::vector<std::byte> few(1000);
  const auto decoded = decode_image(bytes_of(file), {}, few, few);
  ASSERT_FALSE(decoded);
  EXPECT_TRUE(has(decoded.error().message, "there is room for 1000"));
  file.replace(16, 8, std::string(8, '\0'));
  EXPECT_TRUE(has(refusal(file), "a PNG of 0 by 0 pixels"));
}

TEST(Image, RefusesOtherFilesAndTooLittleMemory) {
  EXPECT_TRUE(has(refusal("GIF89a"), "6 bytes that are neither JPEG nor PNG"));
  EXPECT_TRUE(has(refusal(""), "0 bytes that are neither"));
  const std::string file = jpeg_file(smooth_picture(16, 16, 3));
  std::vector<std::byte> out(768);
  std::vector<std::byte> scratch(100);
  const auto decoded = decode_image(bytes_of(file), {}, out, scratch);
  ASSERT_FALSE(decoded);
  EXPECT_TRUE(has(decoded.error().message, "bytes of scratch; there are 100"));
}

// The libraries' vector code is not seen by the sanitizers.
TEST(Image, NothingIsWrittenBehindWhatWasGiven) {
  for (int width = 1; width < 70; ++width) {
    JpegStyle progressive;
    progressive.progressive = true;
    const Picture picture = smooth_picture(width, 9, 3);
    for (const std::string& file :
         {jpeg_file(picture), jpeg_file(picture, progressive),
          png_file(picture), png_file(picture, {.interlaced = true})}) {
      for (const int channels : {1, 3, 4}) {
        const auto info = image_info(bytes_of(file));
        ASSERT_TRUE(info);
        const auto image_bytes = static_cast<std::size_t>(width * 9 * channels);
        const auto scratch_bytes =
            static_cast<std::size_t>(info->scratch_bytes);
        std::vector<std::byte> out(image_bytes + 64, std::byte{0xa7});
        std::vector<std::byte> scratch(scratch_bytes + 64, std::byte{0xa7});
        ASSERT_TRUE(decode_image(bytes_of(file), {.channels = channels},
                                 std::span(out).first(image_bytes),
                                 std::span(scratch).first(scratch_bytes)));
        EXPECT_EQ(std::count(out.end() - 64, out.end(), std::byte{0xa7}), 64);
        EXPECT_EQ(
            std::count(scratch.end() - 64, scratch.end(), std::byte{0xa7}), 64);
      }
    }
  }
}

TEST(Image, MostScratchHoldsForEveryKind) {
  for (const int width : {8, 100, 801}) {
    const ImageSize size{width, 77};
    for (const bool progressive : {false, true}) {
      for (const int across : {1, 2, 4}) {
        for (const int down : {1, 2, 4}) {
          if (across * down > 8) continue;
          JpegStyle style;
          style.progressive = progressive;
          style.sampling_across = across;
          style.sampling_down = down;
          const auto info = image_info(
              bytes_of(jpeg_file(smooth_picture(width, 77, 3), style)));
          ASSERT_TRUE(info);
          EXPECT_LE(info->scratch_bytes, most_scratch_bytes(size, progressive));
        }
      }
    }
    EXPECT_LE(image_info(bytes_of(png_file(smooth_picture(width, 77, 4))))
                  ->scratch_bytes,
              most_scratch_bytes(size, false));
  }
}

TEST(Image, MutatedFilesAreDecodedOrRefused) {
  JpegStyle progressive;
  progressive.progressive = true;
  const std::string files[] = {
      jpeg_file(smooth_picture(30, 20, 3)),
      jpeg_file(smooth_picture(30, 20, 3), progressive),
      png_file(smooth_picture(30, 20, 3)),
      png_file(smooth_picture(30, 20, 1), {.interlaced = true})};
  std::vector<std::byte> out(1 << 20);
  std::vector<std::byte> scratch(1 << 20);
  std::mt19937 random(11);
  int decoded = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string file = files[random() % 4];
    for (std::size_t change = 0; change <= random() % 3; ++change) {
      file[random() % file.size()] = static_cast<char>(random());
    }
    const DecodeOptions options{.channels = i % 2 == 0 ? 0 : 3,
                                .at_least = {i % 40, 0}};
    if (decode_image(bytes_of(file), options, out, scratch)) ++decoded;
  }
  EXPECT_GT(decoded, 100);
  EXPECT_LT(decoded, 3900);
}

}  // namespace
}  // namespace plimsoll::io
