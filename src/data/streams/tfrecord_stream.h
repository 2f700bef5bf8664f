// The records of TFRecord files, as they are: one field `record` of bytes.
#pragma once

#include <cstdint>
#include <memory>

#include "data/streams/file_stream.h"
#include "io/tfrecord.h"

namespace plimsoll::data {

struct TfRecordStreamOptions {
  FileStreamOptions files;
  io::TfRecordOptions reading;
  // Of the largest record; 0: plain files are gone through from header to
  // header at the start, and records of gzip files have at most 1 MiB.
  std::int64_t most_record_bytes = 0;
};

Result<std::unique_ptr<Stream>> tfrecord_stream(
    const TfRecordStreamOptions& options);

}  // namespace plimsoll::data
