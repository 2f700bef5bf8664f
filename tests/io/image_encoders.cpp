#include "io/image_encoders.h"

#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <random>
//
#include <jpeglib.h>
#include <png.h>

namespace plimsoll::io {

Picture smooth_picture(int width, int height, int channels) {
  Picture picture{width, height, channels, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const double value = 128 + 60 * std::sin(0.11 * x + c) +
                             50 * std::cos(0.07 * y - 0.5 * c);
        picture.pixels.push_back(static_cast<std::uint8_t>(value));
      }
    }
  }
  return picture;
}

Picture random_picture(int width, int height, int channels) {
  Picture picture{width, height, channels, {}};
  std::mt19937 random(7);
  for (int i = 0; i < width * height * channels; ++i) {
    picture.pixels.push_back(static_cast<std::uint8_t>(random() >> 24));
  }
  return picture;
}

Picture rough_picture(int width, int height, int channels) {
  Picture picture{width, height, channels, {}};
  const Picture noise = random_picture(256, 256, channels);
  // Between the samples of `noise`, spread over `cell` pixels each.
  const auto spread = [&](int x, int y, int c, int cell) {
    const auto at = [&](int column, int row) {
      return static_cast<double>(noise.pixels[static_cast<std::size_t>(
          ((row + cell) % 256 * 256 + column % 256) * channels + c)]);
    };
    const double right = x % cell / static_cast<double>(cell);
    const double below = y % cell / static_cast<double>(cell);
    const int column = x / cell;
    const int row = y / cell;
    return (at(column, row) * (1 - right) + at(column + 1, row) * right) *
               (1 - below) +
           (at(column, row + 1) * (1 - right) +
            at(column + 1, row + 1) * right) *
               below;
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const double value =
            0.45 * spread(x, y, c, 100) + 0.3 * spread(x, y, c, 30) +
            0.15 * spread(x, y, c, 8) + 0.1 * spread(x, y, c, 2);
        picture.pixels.push_back(static_cast<std::uint8_t>(value));
      }
    }
  }
  return picture;
}

std::string jpeg_file(const Picture& picture, const JpegStyle& style) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<unsigned>(picture.width);
  info.image_height = static_cast<unsigned>(picture.height);
  info.input_components = picture.channels;
  info.in_color_space = style.cmyk              ? JCS_CMYK
                        : picture.channels == 1 ? JCS_GRAYSCALE
                                                : JCS_RGB;
  jpeg_set_defaults(&info);
  if (style.rgb) jpeg_set_colorspace(&info, JCS_RGB);
  jpeg_set_quality(&info, style.quality, TRUE);
  if (style.adobe) info.write_Adobe_marker = TRUE;
  if (!style.adobe && style.cmyk) info.write_Adobe_marker = FALSE;
  if (picture.channels > 1) {
    info.comp_info[0].h_samp_factor = style.sampling_across;
    info.comp_info[0].v_samp_factor = style.sampling_down;
  }
  info.arith_code = style.arithmetic ? TRUE : FALSE;
  if (style.progressive) jpeg_simple_progression(&info);
  jpeg_scan_info scans[4] = {};
  if (style.several_scans) {
    for (int i = 0; i < info.num_components; ++i) {
      scans[i].comps_in_scan = 1;
      scans[i].component_index[0] = i;
      scans[i].Se = 63;
    }
    info.scan_info = scans;
    info.num_scans = info.num_components;
  }
  jpeg_start_compress(&info, TRUE);
  const auto row_bytes =
      static_cast<std::size_t>(picture.width * picture.channels);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(picture.pixels.data() +
                                     info.next_scanline * row_bytes);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string out(reinterpret_cast<char*>(bytes), size);
  std::free(bytes);
  return out;
}

namespace {

void append(png_structp png, png_bytep bytes, std::size_t count) {
  static_cast<std::string*>(png_get_io_ptr(png))
      ->append(reinterpret_cast<char*>(bytes), count);
}

void flush(png_structp /*png*/) {}

// The samples of a row at other depths than 8 bits.
std::vector<std::uint8_t> packed_row(const std::uint8_t* row, int samples,
                                     int bits) {
  std::vector<std::uint8_t> out(
      static_cast<std::size_t>((samples * bits + 7) / 8));
  for (int i = 0; i < samples; ++i) {
    if (bits == 16) {
      out[static_cast<std::size_t>(2 * i)] = row[i];
      out[static_cast<std::size_t>(2 * i + 1)] = 0x77;
      continue;
    }
    const int value = row[i] >> (8 - bits);
    const int shift = 8 - bits - i * bits % 8;
    out[static_cast<std::size_t>(i * bits / 8)] |=
        static_cast<std::uint8_t>(value << shift);
  }
  return out;
}

}  // namespace

std::string png_file(const Picture& picture, const PngStyle& style) {
  std::string out;
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &out, append, flush);
  constexpr int kTypes[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                            PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  png_set_IHDR(
      png, info, static_cast<unsigned>(picture.width),
      static_cast<unsigned>(picture.height), style.bits,
      style.palette ? PNG_COLOR_TYPE_PALETTE : kTypes[picture.channels],
      style.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
      PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  const png_color colours[4] = {
      {255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {9, 8, 7}};
  if (style.palette) png_set_PLTE(png, info, colours, 4);
  if (style.transparent) {
    const png_byte alphas[2] = {0, 128};
    const png_color_16 colour{};
    png_set_tRNS(png, info, alphas, style.palette ? 2 : 0, &colour);
  }
  std::string text(5000, 't');
  char key[] = "Comment";
  png_text texts[2] = {};
  for (int i = 0; i < 2; ++i) {
    texts[i].compression =
        i == 0 ? PNG_TEXT_COMPRESSION_NONE : PNG_TEXT_COMPRESSION_zTXt;
    texts[i].key = key;
    texts[i].text = text.data();
    texts[i].text_length = text.size();
  }
  if (style.texts) png_set_text(png, info, texts, 2);
  png_write_info(png, info);
  const int passes = png_set_interlace_handling(png);
  const int samples = picture.width * (style.palette ? 1 : picture.channels);
  for (int pass = 0; pass < passes; ++pass) {
    for (int y = 0; y < picture.height; ++y) {
      const std::uint8_t* row =
          picture.pixels.data() + y * picture.width * picture.channels;
      std::vector<std::uint8_t> chosen(row, row + samples);
      if (style.palette) {
        for (int x = 0; x < samples; ++x) {
          chosen[static_cast<std::size_t>(x)] =
              static_cast<std::uint8_t>(row[x * picture.channels] >> 6);
          if (style.bits < 8) {
            chosen[static_cast<std::size_t>(x)] = static_cast<std::uint8_t>(
                chosen[static_cast<std::size_t>(x)] << (8 - style.bits));
          }
        }
      }
      const auto packed = style.bits == 8
                              ? chosen
                              : packed_row(chosen.data(), samples, style.bits);
      png_write_row(png, packed.data());
    }
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return out;
}

}  // namespace plimsoll::io
