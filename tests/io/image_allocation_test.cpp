// Decoding allocates nothing once a thread has decoded its first image: also
// not inside of the libraries, so malloc itself is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <vector>

#include "io/image.h"
#include "io/image_encoders.h"
#include "io/jpeg_planes.h"

#if defined(__GLIBC__) && !defined(PLIMSOLL_SANITIZED)
namespace {
std::atomic<long> allocations{0};
}
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
__attribute__((visibility("default"))) void* malloc(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
__attribute__((visibility("default"))) void* calloc(std::size_t count,
                                                    std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
}

namespace plimsoll::io {
namespace {

TEST(Image, DecodingAllocatesNothing) {
  JpegStyle progressive;
  progressive.progressive = true;
  JpegStyle cmyk;
  cmyk.cmyk = true;
  const std::string files[] = {
      jpeg_file(smooth_picture(100, 80, 3)),
      jpeg_file(smooth_picture(100, 80, 3), progressive),
      jpeg_file(smooth_picture(100, 80, 4), cmyk),
      png_file(smooth_picture(100, 80, 3), {.texts = true}),
      png_file(smooth_picture(100, 80, 1), {.interlaced = true})};
  std::vector<std::byte> out(100 * 80 * 4);
  std::vector<std::byte> scratch(1 << 20);
  for (int round = 0; round < 2; ++round) {
    const long before = allocations.load();
    for (const std::string& file : files) {
      const auto decoded = decode_image(std::as_bytes(std::span(file)),
                                        {.channels = 3}, out, scratch);
      ASSERT_TRUE(decoded);
      const auto info = image_info(std::as_bytes(std::span(file)));
      if (info->planes == Planes::none) continue;
      JpegPlanes planes;
      ASSERT_TRUE(
          planes.open(std::as_bytes(std::span(file)), *info, {}, scratch));
      while (planes.rows_read(0) < info->height) {
        ASSERT_TRUE(planes.read_strip());
      }
    }
    if (round == 0) {
      EXPECT_GT(allocations.load(), before);  // it does count
    } else {
      EXPECT_EQ(allocations.load(), before);
    }
  }
}

}  // namespace
}  // namespace plimsoll::io
#endif
