// libjpeg's decompressor, one a thread: making one allocates, so it is kept.
// All that an image needs comes from the caller's memory. The library reports
// errors by longjmp: every call into it goes through run().
#pragma once

#include <csetjmp>

#include "io/image.h"
#include "io/jpeg_memory.h"

namespace plimsoll::io {

class JpegDecoder {
 public:
  static JpegDecoder& of_this_thread();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Both refer to the image until forget(); a failure forgets by itself.
  Status read_header(std::span<const std::byte> bytes,
                     std::span<std::byte> memory);
  Status decode(const DecodedImage& image, std::span<std::byte> out);
  void forget();

  // Calls the library: its errors end `body` and are returned. No object with
  // a destructor lives in there: longjmp passes it.
  using Body = void (*)(JpegDecoder& self, void* context);
  Status run(Body body, void* context = nullptr);

  jpeg_decompress_struct& info() { return info_; }
  bool has_several_scans() { return jpeg_has_multiple_scans(&info_) != 0; }

 private:
  struct Callbacks;

  JpegDecoder();
  bool run_caught(Body body, void* context);
  static void create(JpegDecoder& self, void*);
  static void read_image(JpegDecoder& self, void*);
  void read_cmyk_rows();

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_source_mgr source_{};
  jpeg_progress_mgr progress_{};
  JpegMemory memory_;
  jpeg_memory_mgr* own_memory_ = nullptr;  // the library's; null: not created
  std::jmp_buf catch_{};
  char message_[JMSG_LENGTH_MAX] = {};
  std::size_t image_bytes_ = 0;
  DecodedImage wanted_;
  unsigned char* out_ = nullptr;
};

}  // namespace plimsoll::io
