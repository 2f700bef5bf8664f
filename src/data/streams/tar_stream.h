// Samples of tar archives in the manner of WebDataset: one field of bytes for
// each extension.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/streams/file_stream.h"

namespace plimsoll::data {

struct TarStreamOptions {
  FileStreamOptions files;
  // The fields, in this order ("jpg", "cls"); empty: those of the first sample.
  std::vector<std::string> extensions;
  // Of the largest file in the archives; 0: all headers are read at the start.
  std::int64_t most_record_bytes = 0;
};

Result<std::unique_ptr<Stream>> tar_stream(const TarStreamOptions& options);

}  // namespace plimsoll::data
