// Writes TFRecord files, plain or gzip.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "io/byte_reader.h"
#include "io/file.h"

namespace plimsoll::io {

class TfRecordWriter {
 public:
  // `compression` is none or gzip.
  static Result<TfRecordWriter> create(
      const std::string& path, Compression compression = Compression::none);
  TfRecordWriter(TfRecordWriter&&) noexcept;
  ~TfRecordWriter();

  Status write(std::span<const std::byte> record);
  // The file appears under its name whole, synced; without it, not at all.
  Status finish();

 private:
  struct Output;
  explicit TfRecordWriter(std::unique_ptr<Output> output);

  std::unique_ptr<Output> output_;
};

}  // namespace plimsoll::io
