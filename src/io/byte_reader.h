// A file read from front to back through a window of the caller's memory,
// plain or gzip. After open() nothing is allocated unless there is an error.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "io/file.h"

namespace plimsoll::io {

enum class Compression {
  none,
  gzip,
  detect,  // gzip where the file begins as gzip files do
};

// What zlib's inflate takes: 32 KiB of history and about 7 KiB of tables.
inline constexpr std::int64_t kInflateBytes = 48 * kKiB;
inline constexpr std::int64_t kGzipInputBytes = 32 * kKiB;
// All that a gzip file needs beside the window; the rest is for alignment.
inline constexpr std::int64_t kGzipBytes =
    kInflateBytes + kGzipInputBytes + kKiB;

// The memory of a reader that shows at least `window_bytes` at a time.
constexpr std::int64_t byte_reader_bytes(
    std::int64_t window_bytes, Compression compression = Compression::detect) {
  return window_bytes + (compression == Compression::none ? 0 : kGzipBytes);
}

struct ByteReaderOptions {
  Compression compression = Compression::detect;
  // Pages that were read leave the system's cache: a large set read once would
  // push out everything else.
  bool drop_behind = true;
};

class ByteReader {
 public:
  // `memory` stays the caller's and outlives the reader.
  static Result<ByteReader> open(const std::string& path,
                                 std::span<std::byte> memory,
                                 const ByteReaderOptions& options = {});
  static Result<ByteReader> open(InputFile file, std::span<std::byte> memory,
                                 const ByteReaderOptions& options = {});

  const std::string& path() const { return file_.path(); }
  std::int64_t file_bytes() const { return file_.size_bytes(); }
  bool is_gzip() const { return inflater_ != nullptr; }
  // The most that can be seen at once.
  std::int64_t window_bytes() const {
    return static_cast<std::int64_t>(window_.size());
  }

  // Of the next byte, in the stream as it is when decompressed.
  std::int64_t position() const { return position_; }

  // Afterwards peek() shows at least `bytes` (at most a window), or all that
  // is left. What was peeked before is gone.
  Status fill(std::int64_t bytes) {
    if (end_ - begin_ >= bytes || ended_) return {};
    return fill_more(bytes);
  }
  std::int64_t available_bytes() const { return end_ - begin_; }
  // Whether nothing follows what peek() shows.
  bool ended() const { return ended_; }
  std::span<const std::byte> peek() const {
    return window_.subspan(static_cast<std::size_t>(begin_),
                           static_cast<std::size_t>(end_ - begin_));
  }
  // The same, to be changed before it is consumed.
  std::span<std::byte> peek_writable() const {
    return window_.subspan(static_cast<std::size_t>(begin_),
                           static_cast<std::size_t>(end_ - begin_));
  }
  // Goes on by `bytes` of those that peek() shows.
  void consume(std::int64_t bytes) {
    bytes = std::min(bytes, end_ - begin_);
    begin_ += bytes;
    position_ += bytes;
  }

  // To an offset of the decompressed stream. In gzip, forward reads up to
  // there and backward starts over.
  Status seek(std::int64_t offset);

 private:
  struct Inflater;  // lives in the caller's memory

  ByteReader(InputFile file, bool drop_behind)
      : file_(std::move(file)), drop_behind_(drop_behind) {}
  Status start_gzip(std::span<std::byte> memory);
  Status fill_more(std::int64_t bytes);
  Status read_plain(std::int64_t bytes);
  Status read_gzip(std::int64_t bytes);
  Status inflate_once();
  Status refill_input();
  void restart(std::int64_t offset);
  void drop_read_pages();
  Error bad(const std::string& what) const;

  InputFile file_;
  std::span<std::byte> window_;
  Inflater* inflater_ = nullptr;
  bool drop_behind_ = true;
  bool ended_ = false;      // nothing follows what is in the window
  std::int64_t begin_ = 0;  // window_[begin_, end_) is not consumed yet
  std::int64_t end_ = 0;
  std::int64_t position_ = 0;  // of window_[begin_] in the stream
  std::int64_t read_to_ = 0;   // offset in the file
  std::int64_t dropped_to_ = 0;
};

}  // namespace plimsoll::io
