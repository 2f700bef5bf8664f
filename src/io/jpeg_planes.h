// A JPEG's planes as they are stored, a strip of rows at a time: neither
// brought to one size nor turned into RGB. Two strips are held at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "io/image.h"

namespace plimsoll::io {

class JpegDecoder;

// Rows may be read up to a multiple of so many samples; what lies behind the
// plane's own is of no meaning.
inline constexpr std::int64_t kPlaneRowPadding = 64;

struct PlaneFacts {
  ImageSize size;  // in samples
  // Samples for each pixel of the image: 1 of those with the most.
  float across_ratio = 1;
  float down_ratio = 1;
  friend bool operator==(const PlaneFacts&, const PlaneFacts&) = default;
};

// One at a time on a thread, and no other decoding meanwhile.
class JpegPlanes {
 public:
  JpegPlanes() = default;
  ~JpegPlanes();
  JpegPlanes(const JpegPlanes&) = delete;
  JpegPlanes& operator=(const JpegPlanes&) = delete;

  // Refers to both until the end. `info` is what image_info() said of these
  // bytes; its planes are not none. For 1 channel only the first plane of
  // ycbcr is read; the channels are not looked at otherwise.
  Status open(std::span<const std::byte> bytes, const ImageInfo& info,
              const DecodeOptions& options, std::span<std::byte> scratch);

  ImageSize image_size() const { return size_; }
  int count() const { return count_; }
  const PlaneFacts& plane(int i) const { return facts_[index(i)]; }

  // While the rows of some plane have not all been read.
  Status read_strip();
  int rows_read(int plane) const {
    return strips_read_ * strip_rows_[index(plane)];
  }
  // Of the last two strips.
  const std::uint8_t* row(int plane, int y) const {
    const int rows = strip_rows_[index(plane)];
    return strips_[index(y / rows % 2)][index(plane)][y % rows];
  }

 private:
  static constexpr std::size_t kMostPlanes = 3;
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  void start(JpegDecoder& decoder);
  void read(JpegDecoder& decoder);

  ImageSize size_;
  int eighths_ = 8;
  Dct dct_ = Dct::exact;
  int count_ = 0;  // 0: not open
  int strips_read_ = 0;
  std::array<PlaneFacts, kMostPlanes> facts_;
  std::array<int, kMostPlanes> strip_rows_{};
  // Row by row of plane by plane of both strips.
  std::array<std::array<unsigned char**, kMostPlanes>, 2> strips_{};
};

}  // namespace plimsoll::io
