// The bytes of one zip entry from front to back, in slices, inflated in the
// caller's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "io/file.h"
#include "io/zip.h"

struct z_stream_s;

namespace plimsoll::io {

class ZipStream {
 public:
  // zlib's state and window, and the bytes read ahead.
  static constexpr std::int64_t kMemoryBytes = 96 * 1024;

  // `file` and `memory` (of kMemoryBytes) outlive the stream.
  static Result<ZipStream> start(const InputFile& file, const ZipEntry& entry,
                                 std::span<std::byte> memory);

  // Fills `out`. With the entry's last byte its checksum is checked.
  Status read(std::span<std::byte> out);
  std::int64_t left_bytes() const { return left_bytes_; }

 private:
  Error bad(const char* what) const;
  Status refill();
  Status inflate_into(std::span<std::byte> out);

  const InputFile* file_ = nullptr;
  z_stream_s* zlib_ = nullptr;  // null: stored
  std::span<std::byte> ahead_;
  std::int64_t next_offset_ = 0;  // in the file
  std::int64_t stored_left_ = 0;  // not read yet
  std::int64_t left_bytes_ = 0;   // not handed out yet
  std::uint32_t crc32_ = 0;       // so far
  std::uint32_t expected_crc32_ = 0;
};

}  // namespace plimsoll::io
