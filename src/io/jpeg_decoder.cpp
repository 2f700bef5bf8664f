#include "io/jpeg_decoder.h"

#include <fmt/core.h>
#include <jerror.h>

#include <algorithm>

namespace plimsoll::io {
namespace {

// A file of few bytes can ask for thousands of passes over a large image.
constexpr int kMostScans = 200;
constexpr unsigned kRowsAtOnce = 16;

JpegDecoder& decoder_of(void* client_data) {
  return *static_cast<JpegDecoder*>(client_data);
}

}  // namespace

// What the library calls.
struct JpegDecoder::Callbacks {
  static void fail(j_common_ptr info) {
    JpegDecoder& self = decoder_of(info->client_data);
    (*info->err->format_message)(info, self.message_);
    std::longjmp(self.catch_, 1);
  }
  static void warn(j_common_ptr info, int level) {
    if (level >= 0) return;  // a trace
    switch (info->err->msg_code) {
      case JWRN_ADOBE_XFORM:
      case JWRN_BOGUS_ICC:
      case JWRN_EXTRANEOUS_DATA:
      case JWRN_JFIF_MAJOR:
        return;  // no pixel is in doubt
      default:
        fail(info);
    }
  }
  static void print(j_common_ptr /*info*/) {}

  static void truncated(j_decompress_ptr info) {
    JpegDecoder& self = decoder_of(info->client_data);
    std::snprintf(self.message_, sizeof(self.message_),
                  "truncated image at byte %zu", self.image_bytes_);
    std::longjmp(self.catch_, 1);
  }
  static void begin(j_decompress_ptr /*info*/) {}
  static boolean fill(j_decompress_ptr info) {
    truncated(info);
    return FALSE;
  }
  static void skip(j_decompress_ptr info, long bytes) {
    if (bytes <= 0) return;
    const auto count = static_cast<std::size_t>(bytes);
    if (count > info->src->bytes_in_buffer) truncated(info);
    info->src->next_input_byte += count;
    info->src->bytes_in_buffer -= count;
  }

  static void progress(j_common_ptr info) {
    const auto* image = reinterpret_cast<j_decompress_ptr>(info);
    if (image->input_scan_number <= kMostScans) return;
    JpegDecoder& self = decoder_of(info->client_data);
    std::snprintf(self.message_, sizeof(self.message_),
                  "a JPEG of more than %d scans", kMostScans);
    std::longjmp(self.catch_, 1);
  }
};

JpegDecoder& JpegDecoder::of_this_thread() {
  thread_local JpegDecoder decoder;
  return decoder;
}

JpegDecoder::JpegDecoder() {
  info_.err = jpeg_std_error(&errors_);
  errors_.error_exit = Callbacks::fail;
  errors_.emit_message = Callbacks::warn;
  errors_.output_message = Callbacks::print;
  info_.client_data = this;
  source_.init_source = Callbacks::begin;
  source_.fill_input_buffer = Callbacks::fill;
  source_.skip_input_data = Callbacks::skip;
  source_.resync_to_restart = jpeg_resync_to_restart;
  source_.term_source = Callbacks::begin;
  progress_.progress_monitor = Callbacks::progress;
  set_methods(memory_);
}

JpegDecoder::~JpegDecoder() {
  if (own_memory_ == nullptr) return;
  info_.mem = own_memory_;
  jpeg_destroy_decompress(&info_);
}

bool JpegDecoder::run_caught(Body body, void* context) {
  if (setjmp(catch_) != 0) return false;
  body(*this, context);
  return true;
}

Status JpegDecoder::run(Body body, void* context) {
  if (run_caught(body, context)) return {};
  forget();
  return Error{ErrorCode::bad_input, message_};
}

void JpegDecoder::create(JpegDecoder& self, void*) {
  jpeg_create_decompress(&self.info_);
  self.own_memory_ = self.info_.mem;
  self.info_.src = &self.source_;
  self.info_.progress = &self.progress_;
}

void JpegDecoder::forget() {
  if (own_memory_ == nullptr) return;
  info_.mem = &memory_.methods;
  jpeg_abort_decompress(&info_);
  // The library keeps tables from image to image; these lay in the caller's
  // memory.
  std::fill(std::begin(info_.quant_tbl_ptrs), std::end(info_.quant_tbl_ptrs),
            nullptr);
  std::fill(std::begin(info_.dc_huff_tbl_ptrs),
            std::end(info_.dc_huff_tbl_ptrs), nullptr);
  std::fill(std::begin(info_.ac_huff_tbl_ptrs),
            std::end(info_.ac_huff_tbl_ptrs), nullptr);
  memory_.bump = BumpMemory();
}

Status JpegDecoder::read_header(std::span<const std::byte> bytes,
                                std::span<std::byte> memory) {
  if (own_memory_ == nullptr) PLIMSOLL_RETURN_IF_ERROR(run(create));
  forget();
  memory_.bump = BumpMemory(memory);
  image_bytes_ = bytes.size();
  source_.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
  source_.bytes_in_buffer = bytes.size();
  return run(
      [](JpegDecoder& self, void*) { jpeg_read_header(&self.info_, TRUE); });
}

Status JpegDecoder::decode(const DecodedImage& image,
                           std::span<std::byte> out) {
  wanted_ = image;
  out_ = reinterpret_cast<unsigned char*>(out.data());
  return run(read_image);
}

void JpegDecoder::read_image(JpegDecoder& self, void*) {
  jpeg_decompress_struct& info = self.info_;
  const DecodedImage& wanted = self.wanted_;
  const bool cmyk = info.num_components == 4;
  info.out_color_space = cmyk                   ? JCS_CMYK
                         : wanted.channels == 1 ? JCS_GRAYSCALE
                         : wanted.channels == 3 ? JCS_RGB
                                                : JCS_EXT_RGBA;
  info.scale_num = static_cast<unsigned>(wanted.eighths);
  info.scale_denom = 8;
  info.dct_method = wanted.dct == Dct::fast ? JDCT_IFAST : JDCT_ISLOW;
  jpeg_start_decompress(&info);
  // The header said so, and `out` was measured by it.
  if (info.output_width != static_cast<unsigned>(wanted.size.width) ||
      info.output_height != static_cast<unsigned>(wanted.size.height) ||
      info.output_components != (cmyk ? 4 : wanted.channels)) {
    ERREXIT(&info, JERR_BAD_STATE);
  }
  if (cmyk) return self.read_cmyk_rows();
  const std::size_t row_bytes =
      std::size_t{info.output_width} * static_cast<unsigned>(wanted.channels);
  while (info.output_scanline < info.output_height) {
    JSAMPROW rows[kRowsAtOnce];
    const unsigned count =
        std::min(kRowsAtOnce, info.output_height - info.output_scanline);
    for (unsigned i = 0; i < count; ++i) {
      rows[i] = self.out_ + (info.output_scanline + i) * row_bytes;
    }
    jpeg_read_scanlines(&info, rows, count);
  }
}

void JpegDecoder::read_cmyk_rows() {
  const auto channels = static_cast<std::size_t>(wanted_.channels);
  auto* common = reinterpret_cast<j_common_ptr>(&info_);
  JSAMPARRAY row = (*info_.mem->alloc_sarray)(common, JPOOL_IMAGE,
                                              info_.output_width * 4, 1);
  unsigned char* out = out_;
  while (info_.output_scanline < info_.output_height) {
    jpeg_read_scanlines(&info_, row, 1);
    for (std::size_t x = 0; x < info_.output_width; ++x, out += channels) {
      const unsigned char* ink = row[0] + 4 * x;
      for (std::size_t c = 0; c < 3; ++c) {
        // Adobe's programs write how much ink is missing.
        const int light = info_.saw_Adobe_marker ? ink[c] : 255 - ink[c];
        const int rest = info_.saw_Adobe_marker ? ink[3] : 255 - ink[3];
        out[c] = static_cast<unsigned char>(light * rest / 255);
      }
      if (channels == 4) out[3] = 255;
    }
  }
}

}  // namespace plimsoll::io
