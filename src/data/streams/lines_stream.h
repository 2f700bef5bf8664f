// The lines of text files: one field `line` of bytes, without the newline.
#pragma once

#include <cstdint>
#include <memory>

#include "base/units.h"
#include "data/streams/file_stream.h"
#include "io/byte_reader.h"

namespace plimsoll::data {

struct LinesStreamOptions {
  FileStreamOptions files;
  io::ByteReaderOptions reading;
  std::int64_t most_line_bytes = 64 * kKiB;
};

Result<std::unique_ptr<Stream>> lines_stream(const LinesStreamOptions& options);

}  // namespace plimsoll::data
