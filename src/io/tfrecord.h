// TFRecord files: records of bytes, each with a checksum of its length and one
// of its data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "io/byte_reader.h"

namespace plimsoll::io {

// A record is its length (8 bytes), the length's checksum, data, checksum.
inline constexpr std::int64_t kTfRecordHeaderBytes = 12;
inline constexpr std::int64_t kTfRecordFrameBytes = kTfRecordHeaderBytes + 4;

// The memory of a reader of records of up to `most_record_bytes`.
constexpr std::int64_t tfrecord_reader_bytes(
    std::int64_t most_record_bytes,
    Compression compression = Compression::detect) {
  return byte_reader_bytes(most_record_bytes + kTfRecordFrameBytes,
                           compression);
}

struct TfRecord {
  std::span<const std::byte> bytes;  // until the next call of the reader
  std::int64_t number = 0;           // the file's first is 0
  std::int64_t offset = 0;           // of its header, decompressed
};

struct TfRecordOptions {
  Compression compression = Compression::detect;
  bool verify_data = true;  // a length's checksum is always verified
  bool drop_behind = true;
};

class TfRecordReader {
 public:
  static Result<TfRecordReader> open(const std::string& path,
                                     std::span<std::byte> memory,
                                     const TfRecordOptions& options = {});

  const std::string& path() const { return reader_.path(); }
  std::int64_t most_record_bytes() const {
    return reader_.window_bytes() - kTfRecordFrameBytes;
  }

  // The next record; false at the end of the file.
  Result<bool> next(TfRecord& record);

  // After an error: whether next() gives the record behind the bad one. Not
  // where the length is wrong or the file ends: there the error comes again.
  bool can_continue() const { return can_continue_; }

  // To a record whose number and offset are known.
  Status seek(std::int64_t offset, std::int64_t number);

 private:
  TfRecordReader(ByteReader reader, bool verify_data)
      : reader_(std::move(reader)), verify_data_(verify_data) {}
  Error bad(const std::string& what) const;
  Status read_frame(std::int64_t data_bytes);
  Error too_large(std::int64_t data_bytes);

  ByteReader reader_;
  bool verify_data_ = true;
  bool can_continue_ = true;
  std::int64_t number_ = 0;
  std::int64_t skip_to_ = -1;  // behind a record too large to be read
};

struct TfRecordScan {
  std::int64_t records = 0;
  std::int64_t largest_record_bytes = 0;
};

// Goes from header to header of a plain file; the data is not read.
Result<TfRecordScan> scan_tfrecords(const std::string& path);

}  // namespace plimsoll::io
