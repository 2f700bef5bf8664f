// The lines of a text file, without a copy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "io/byte_reader.h"

namespace plimsoll::io {

struct TextLine {
  std::string_view text;    // without LF or CRLF; until the reader's next call
  std::int64_t number = 0;  // the file's first is 1
  std::int64_t offset = 0;  // of its first byte, decompressed
};

class LineReader {
 public:
  // A line fits into the reader's window.
  explicit LineReader(ByteReader reader) : reader_(std::move(reader)) {}

  const std::string& path() const { return reader_.path(); }

  // The next line, which may lack its newline at the end of the file; false
  // behind the last one. A line that is too long is an error at each call.
  Result<bool> next(TextLine& line);

  // To the beginning of a line whose number is known.
  Status seek(std::int64_t offset, std::int64_t number);

 private:
  ByteReader reader_;
  std::int64_t number_ = 1;
};

// File text for an error: short, and without what a terminal would obey.
std::string excerpt_of(std::string_view text);

}  // namespace plimsoll::io
