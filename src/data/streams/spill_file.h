// A file without a name, written once from front to back and then read so any
// number of times, through one buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "io/file.h"

namespace plimsoll::data {

class SpillFile {
 public:
  // Of the buffer, for records of up to so many bytes.
  static std::int64_t buffer_bytes(std::int64_t most_record_bytes);

  explicit SpillFile(std::string folder) : folder_(std::move(folder)) {}
  void set_buffer(std::span<std::byte> buffer) { buffer_ = buffer; }

  // Forgets what was written; the file is created with the first record.
  Status clear();
  // Where to write a record of `bytes`, which follows the one before.
  Result<std::byte*> append(std::int64_t bytes);
  Status finish();  // before reading
  std::int64_t written_bytes() const { return flushed_ + buffered_; }

  void rewind();
  // At least `bytes` of what follows, if there are so many.
  Result<std::span<const std::byte>> peek(std::int64_t bytes);
  void consume(std::int64_t bytes) { begin_ += bytes; }
  bool at_end() const { return begin_ == end_ && read_to_ == flushed_; }

 private:
  Status create();
  Status flush();
  Error failed(const char* what) const;

  std::string folder_;
  io::Descriptor descriptor_;
  std::span<std::byte> buffer_;
  std::int64_t flushed_ = 0;   // bytes in the file
  std::int64_t buffered_ = 0;  // bytes in the buffer, not written yet
  std::int64_t begin_ = 0;     // buffer_[begin_, end_) was read
  std::int64_t end_ = 0;
  std::int64_t read_to_ = 0;  // offset in the file
};

}  // namespace plimsoll::data
