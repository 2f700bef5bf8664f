// JPEG and PNG files for tests, made by the libraries as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::io {

struct Picture {
  int width = 0;
  int height = 0;
  int channels = 0;
  std::vector<std::uint8_t> pixels;
};

// Smooth, so that JPEG keeps it nearly as it is.
Picture smooth_picture(int width, int height, int channels);
// About as rough as a photograph: noise of several sizes.
Picture rough_picture(int width, int height, int channels);
// Every sample by chance: the worst there is.
Picture random_picture(int width, int height, int channels);

struct JpegStyle {
  int quality = 95;
  bool progressive = false;
  int sampling_across = 2;  // of the first component, against the others
  int sampling_down = 2;
  bool cmyk = false;           // of 4 channels
  bool rgb = false;            // stored as it is, not as YCbCr
  bool adobe = false;          // with Adobe's marker
  bool several_scans = false;  // one for each component
  bool arithmetic = false;
};
std::string jpeg_file(const Picture& picture, const JpegStyle& style = {});

struct PngStyle {
  bool interlaced = false;
  int bits = 8;          // 1, 2, 4, 8 or 16; values below 8 are the upper bits
  bool palette = false;  // of 4 colours, chosen by the first channel
  bool transparent = false;  // has a tRNS chunk
  bool texts = false;        // has chunks of text, compressed and not
};
std::string png_file(const Picture& picture, const PngStyle& style = {});

}  // namespace plimsoll::io
