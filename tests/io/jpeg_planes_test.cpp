#include "io/jpeg_planes.h"

#include <gtest/gtest.h>

#include <algorithm>
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

using Samples = std::vector<std::uint8_t>;

// All planes, each whole, read in scratch of just the bytes that the header
// calls for.
Result<std::vector<Samples>> planes_of(const std::string& file,
                                       const DecodeOptions& options = {}) {
  constexpr std::size_t kGuard = 64;
  constexpr std::byte kMark{0xa7};
  PLIMSOLL_ASSIGN(const ImageInfo info, image_info(bytes_of(file)));
  const auto bytes = static_cast<std::size_t>(info.plane_scratch_bytes);
  std::vector<std::byte> memory(bytes + kGuard, kMark);
  std::vector<Samples> planes;
  {
    JpegPlanes image;
    PLIMSOLL_RETURN_IF_ERROR(image.open(bytes_of(file), info, options,
                                        std::span(memory).first(bytes)));
    planes.resize(static_cast<std::size_t>(image.count()));
    const auto finished = [&](int i) {
      return image.rows_read(i) >= image.plane(i).size.height;
    };
    while (!finished(0)) {
      PLIMSOLL_RETURN_IF_ERROR(image.read_strip());
      for (int i = 0; i < image.count(); ++i) {
        EXPECT_EQ(finished(i), finished(0));
        Samples& plane = planes[static_cast<std::size_t>(i)];
        const auto [width, height] = image.plane(i).size;
        // From the strip before, whose rows are still there.
        int y = static_cast<int>(plane.size()) / width;
        const int end = std::min(image.rows_read(i), height);
        for (y = std::max(0, y - 1); y < end; ++y) {
          const std::uint8_t* row = image.row(i, y);
          plane.resize(static_cast<std::size_t>(y * width));
          plane.insert(plane.end(), row, row + width);
        }
      }
    }
    EXPECT_FALSE(image.read_strip());  // there are no more
  }
  EXPECT_EQ(std::count(memory.end() - kGuard, memory.end(), kMark),
            std::ptrdiff_t{kGuard});
  return planes;
}

Samples pixels_of(const std::string& file, const DecodeOptions& options) {
  const auto info = image_info(bytes_of(file));
  Samples pixels(static_cast<std::size_t>(decoded_as(*info, options).bytes()));
  std::vector<std::byte> scratch(static_cast<std::size_t>(info->scratch_bytes));
  EXPECT_TRUE(decode_image(bytes_of(file), options,
                           std::as_writable_bytes(std::span(pixels)), scratch));
  return pixels;
}

TEST(JpegPlanes, TheFirstIsTheImageInGrey) {
  for (int width = 1; width < 70; width += width < 20 ? 1 : 7) {
    for (const bool progressive : {false, true}) {
      for (const int across : {1, 2, 4}) {
        for (const int down : {1, 2, 4}) {
          if (across * down > 8) continue;
          JpegStyle style;
          style.progressive = progressive;
          style.sampling_across = across;
          style.sampling_down = down;
          const std::string file =
              jpeg_file(smooth_picture(width, 45, 3), style);
          for (const int channels : {1, 3}) {
            const auto planes = planes_of(file, {.channels = channels});
            ASSERT_TRUE(planes) << planes.error().message;
            ASSERT_EQ(planes->size(), channels == 1 ? 1u : 3u);
            EXPECT_EQ((*planes)[0], pixels_of(file, {.channels = 1}));
          }
        }
      }
    }
  }
}

TEST(JpegPlanes, ColoursHaveTheirOwnResolution) {
  const std::string file = jpeg_file(smooth_picture(33, 21, 3));
  const auto info = image_info(bytes_of(file));
  EXPECT_EQ(info->planes, Planes::ycbcr);
  std::vector<std::byte> scratch(
      static_cast<std::size_t>(info->plane_scratch_bytes));
  JpegPlanes image;
  ASSERT_TRUE(image.open(bytes_of(file), *info, {}, scratch));
  EXPECT_EQ(image.image_size(), (ImageSize{33, 21}));
  EXPECT_EQ(image.plane(0), (PlaneFacts{{33, 21}, 1, 1}));
  EXPECT_EQ(image.plane(1), (PlaneFacts{{17, 11}, 0.5f, 0.5f}));
  EXPECT_EQ(image.plane(2), image.plane(1));
  // At half the size colours keep what they have.
  JpegPlanes half;
  ASSERT_TRUE(
      half.open(bytes_of(file), *info, {.at_least = {17, 11}}, scratch));
  EXPECT_EQ(half.image_size(), (ImageSize{17, 11}));
  EXPECT_EQ(half.plane(0), half.plane(1));
}

TEST(JpegPlanes, EveryScaleOfEverySamplingKeepsToItsScratch) {
  for (const int across : {1, 2, 4}) {
    for (const int down : {1, 2, 4}) {
      if (across * down > 8) continue;
      JpegStyle style;
      style.sampling_across = across;
      style.sampling_down = down;
      const std::string file = jpeg_file(smooth_picture(200, 64, 3), style);
      const auto info = image_info(bytes_of(file));
      EXPECT_LE(info->plane_scratch_bytes,
                most_plane_scratch_bytes({200, 64}, false));
      for (int eighth = 1; eighth <= 8; ++eighth) {
        const DecodeOptions options{1, {25 * eighth, 1}};
        const auto planes = planes_of(file, options);
        ASSERT_TRUE(planes) << planes.error().message;
        EXPECT_EQ((*planes)[0], pixels_of(file, options));
      }
      style.progressive = true;
      const std::string other = jpeg_file(smooth_picture(200, 64, 3), style);
      EXPECT_LE(image_info(bytes_of(other))->plane_scratch_bytes,
                most_plane_scratch_bytes({200, 64}, true));
    }
  }
}

TEST(JpegPlanes, SaysWhatPlanesHold) {
  const auto kind = [](const std::string& file) {
    return image_info(bytes_of(file))->planes;
  };
  EXPECT_EQ(kind(jpeg_file(smooth_picture(9, 9, 1))), Planes::grey);
  JpegStyle style;
  style.rgb = true;
  EXPECT_EQ(kind(jpeg_file(smooth_picture(9, 9, 3), style)), Planes::rgb);
  style.rgb = false;
  style.cmyk = true;
  EXPECT_EQ(kind(jpeg_file(smooth_picture(9, 9, 4), style)), Planes::none);
  EXPECT_EQ(kind(png_file(smooth_picture(9, 9, 3))), Planes::none);
  // Three samples of light to two of colour.
  std::string file = jpeg_file(smooth_picture(9, 9, 3));
  const auto frame = file.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  file[frame + 11] = '\x31';
  file[frame + 14] = file[frame + 17] = '\x21';
  EXPECT_EQ(kind(file), Planes::none);
  // Two samples of blue to one of red.
  file[frame + 11] = '\x21';
  file[frame + 17] = '\x11';
  EXPECT_EQ(kind(file), Planes::none);
  file[frame + 17] = '\x21';
  EXPECT_EQ(kind(file), Planes::ycbcr);
}

TEST(JpegPlanes, EveryTruncationIsRefused) {
  for (const bool progressive : {false, true}) {
    JpegStyle style;
    style.progressive = progressive;
    const std::string good = jpeg_file(smooth_picture(40, 30, 3), style);
    for (std::size_t size = 3; size < good.size() - 2; ++size) {
      const auto planes = planes_of(good.substr(0, size));
      ASSERT_FALSE(planes) << size;
      ASSERT_TRUE(has(planes.error().message,
                      "truncated image at byte " + std::to_string(size)))
          << size << ": " << planes.error().message;
    }
    EXPECT_TRUE(planes_of(good));  // and good ones are read afterwards
  }
}

TEST(JpegPlanes, RefusesTooLittleScratchAndOtherImages) {
  const std::string file = jpeg_file(smooth_picture(16, 16, 3));
  const auto info = image_info(bytes_of(file));
  std::vector<std::byte> few(100);
  JpegPlanes image;
  EXPECT_TRUE(has(image.open(bytes_of(file), *info, {}, few).error().message,
                  "bytes of scratch; there are 100"));
  const std::string png = png_file(smooth_picture(16, 16, 3));
  const auto other = image_info(bytes_of(png));
  EXPECT_TRUE(has(image.open(bytes_of(png), *other, {}, few).error().message,
                  "without planes"));
}

}  // namespace
}  // namespace plimsoll::io
