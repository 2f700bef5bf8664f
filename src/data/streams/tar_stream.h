// Samples of tar archives in the manner of WebDataset: one field of bytes for
// each extension.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/streams/file_stream.h"
#include "io/byte_reader.h"

namespace plimsoll::data {

struct TarStreamOptions {
  FileStreamOptions files;
  // The fields, in this order ("jpg", "cls"); empty: those of the first sample.
  std::vector<std::string> extensions;
  io::ByteReaderOptions reading;
  // Of the largest file in the archives; 0: all headers of plain archives are
  // read at the start, and files of gzip archives have at most 1 MiB.
  std::int64_t most_record_bytes = 0;
};

Result<std::unique_ptr<Stream>> tar_stream(const TarStreamOptions& options);

}  // namespace plimsoll::data
