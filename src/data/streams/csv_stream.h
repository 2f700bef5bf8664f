// Rows of CSV files: chosen columns side by side, or a field for each column.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "data/streams/file_stream.h"
#include "io/csv.h"

namespace plimsoll::data {

struct CsvStreamOptions {
  FileStreamOptions files;
  io::ByteReaderOptions reading;
  io::CsvOptions csv;
  // The column that becomes the field `labels`, a single number. Without one
  // and without features, every column is a field of its own name.
  std::string label;
  io::CsvType label_as = io::CsvType::i32;
  // The columns of the field `features`; empty: all but the label.
  std::vector<std::string> features;
  io::CsvType features_as = io::CsvType::f32;  // or f64
  std::int64_t most_row_bytes = kMiB;
};

// Columns, types and whether there is a header are those of the first file.
Result<std::unique_ptr<Stream>> csv_stream(const CsvStreamOptions& options);

}  // namespace plimsoll::data
