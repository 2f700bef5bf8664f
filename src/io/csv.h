// CSV as RFC 4180 has it, a row at a time into the caller's memory. Blank
// lines are passed over. After open() nothing is allocated unless there is an
// error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/byte_reader.h"

namespace plimsoll::io {

enum class CsvType : std::uint8_t { f32, f64, i32, i64, text };

std::string_view name_of(CsvType type);

struct CsvColumn {
  std::string name;  // empty when declared: the file's own
  CsvType type = CsvType::f32;
  // Read in place of an empty cell. Without it an empty cell is an error
  // (among texts, an empty text).
  std::optional<std::string> missing = {};
};

enum class CsvHeader { yes, no, detect };

struct CsvOptions {
  char delimiter = ',';
  CsvHeader header = CsvHeader::detect;
  // Every column in the file's order; empty: told by the first rows. Of those,
  // integers are i64 and other numbers f32 (f64 past its range).
  std::vector<CsvColumn> columns = {};
  std::optional<std::string> missing =
      {};                           // for the numbers among told columns
  std::int64_t sample_rows = 1000;  // as far as the window holds them
  std::int64_t most_columns = 4096;
};

struct CsvCell;
struct CsvRowShape;

class CsvReader {
 public:
  // A row fits into the reader's window.
  static Result<CsvReader> open(ByteReader reader,
                                const CsvOptions& options = {});
  CsvReader(CsvReader&&) noexcept;
  ~CsvReader();

  const std::string& path() const { return reader_.path(); }
  const std::vector<CsvColumn>& columns() const { return columns_; }
  bool has_header() const { return has_header_; }

  // Where next() goes on; a position to come back to.
  struct Position {
    std::int64_t offset = 0;  // decompressed
    std::int64_t line = 1;
    std::int64_t row = 0;  // the header is none
  };
  Position position() const { return {reader_.position(), line_, row_}; }
  Status seek(const Position& position);

  // The next row; false at the end. `to` has a pointer for each column, to a
  // float, double, int32_t, int64_t or std::string_view (of bytes that hold
  // until the next call) as its type is; nullptr passes the column over.
  Result<bool> next(std::span<void* const> to);

  // After an error: whether next() gives the row behind the bad one.
  bool can_continue() const { return can_continue_; }

 private:
  CsvReader(ByteReader reader, char delimiter);
  Status start(const CsvOptions& options);
  Status pass_byte_order_mark();
  Result<bool> split_next(CsvRowShape& shape);
  void consume(const CsvRowShape& shape);
  Status parse_row(const CsvRowShape& shape, std::span<void* const> to);
  Status parse_cell(std::size_t column, void* to);
  Error bad(const std::string& what) const;

  ByteReader reader_;
  char delimiter_ = ',';
  bool has_header_ = false;
  bool can_continue_ = true;
  std::int64_t line_ = 1;
  std::int64_t row_ = 0;
  std::vector<CsvColumn> columns_;
  std::vector<CsvCell> cells_;
};

}  // namespace plimsoll::io
