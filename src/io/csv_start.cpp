// What a CSV file is: its columns, their names and types, told by its first
// rows where they are not declared.
#include <fmt/core.h>

#include <algorithm>

#include "io/csv.h"
#include "io/csv_row.h"
#include "io/csv_values.h"
#include "io/text_lines.h"

namespace plimsoll::io {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::int64_t kMostSampleBytes = kMiB;

std::string text_of(CsvCell cell) {
  std::string text(cell.data, cell.bytes);
  if (!cell.has_doubled_quotes) return text;
  cell.data = text.data();
  undouble_quotes(cell);
  text.resize(cell.bytes);
  return text;
}

CsvGuess guess_of_cell(const CsvCell& cell) {
  return cell.has_doubled_quotes ? CsvGuess::text
                                 : guess_of({cell.data, cell.bytes});
}

struct ColumnSample {
  CsvGuess first = CsvGuess::nothing;  // of the first row
  CsvGuess below = CsvGuess::nothing;  // of all others
};

// Looks at whole rows of `text` behind the first, without changing them.
void sample_rows_below(std::span<char> text, bool last, char delimiter,
                       std::int64_t most_rows, std::vector<CsvCell>& cells,
                       std::vector<ColumnSample>& samples) {
  for (std::int64_t row = 0; row < most_rows && !text.empty(); ++row) {
    const CsvRowShape shape = split_csv_row(text, last, delimiter, cells);
    if (!shape.complete) return;
    text = text.subspan(shape.bytes);
    // Rows of another width are errors when they are read.
    if (static_cast<std::size_t>(shape.cells) != cells.size()) continue;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      samples[i].below = std::max(samples[i].below, guess_of_cell(cells[i]));
    }
  }
}

enum class Told { header, row, neither };

// A name above numbers is a header; a number in the first row is none.
Told tell_header(const std::vector<ColumnSample>& samples) {
  bool any_number = false;
  for (const ColumnSample& sample : samples) {
    if (sample.first == CsvGuess::text && is_number(sample.below)) {
      return Told::header;
    }
    any_number = any_number || is_number(sample.first);
  }
  return any_number ? Told::row : Told::neither;
}

CsvType type_of(CsvGuess guess) {
  switch (guess) {
    case CsvGuess::i64:
      return CsvType::i64;
    case CsvGuess::f32:
      return CsvType::f32;
    case CsvGuess::f64:
      return CsvType::f64;
    case CsvGuess::nothing:
    case CsvGuess::text:
      break;
  }
  return CsvType::text;
}

CsvColumn told_column(const ColumnSample& sample, bool has_header,
                      const CsvOptions& options) {
  CsvColumn column;
  CsvGuess guess =
      has_header ? sample.below : std::max(sample.first, sample.below);
  if (is_number(guess) && options.missing) {
    column.missing = options.missing;
    const CsvGuess missing = guess_of(*options.missing);
    if (is_number(missing)) guess = std::max(guess, missing);
  }
  column.type = type_of(guess);
  return column;
}

Status check_missing(const CsvColumn& column, const std::string& path) {
  if (!column.missing || column.type == CsvType::text) return {};
  alignas(8) std::byte number[8];
  if (parse_number(*column.missing, column.type, number) == CsvParse::good) {
    return {};
  }
  return Error{ErrorCode::bad_input,
               fmt::format("{}: column '{}': the value \"{}\" for missing "
                           "cells is no {}",
                           path, excerpt_of(column.name),
                           excerpt_of(*column.missing), name_of(column.type))};
}

}  // namespace

Status CsvReader::pass_byte_order_mark() {
  const auto bytes = static_cast<std::int64_t>(kByteOrderMark.size());
  PLIMSOLL_RETURN_IF_ERROR(reader_.fill(bytes));
  const auto start = reader_.peek();
  const std::string_view text(reinterpret_cast<const char*>(start.data()),
                              start.size());
  if (text.starts_with(kByteOrderMark)) reader_.consume(bytes);
  return {};
}

Status CsvReader::start(const CsvOptions& options) {
  if (delimiter_ == '"' || delimiter_ == '\n' || delimiter_ == '\r') {
    return Error{ErrorCode::bad_input,
                 fmt::format("{}: a quote or a newline cannot be the delimiter",
                             path())};
  }
  PLIMSOLL_RETURN_IF_ERROR(pass_byte_order_mark());
  CsvRowShape first;
  PLIMSOLL_ASSIGN(bool found, split_next(first));
  if (!found) {
    columns_ = options.columns;
    if (!columns_.empty() && options.header != CsvHeader::yes) return {};
    return bad("the file is empty: its columns cannot be told");
  }
  if (first.cells > options.most_columns) {
    return bad(fmt::format("has {} cells; files of up to {} columns are read",
                           first.cells, options.most_columns));
  }
  const auto count = static_cast<std::size_t>(first.cells);
  if (!options.columns.empty() && options.columns.size() != count) {
    return bad(fmt::format("has {} cells; {} columns are declared", count,
                           options.columns.size()));
  }
  // Where this fails, the sample is shorter; the error comes again when it is
  // reached.
  const Status ignored =
      reader_.fill(std::min(reader_.window_bytes(), kMostSampleBytes));
  cells_.resize(count);
  PLIMSOLL_ASSIGN(found, split_next(first));
  if (first.bad_quotes) return bad("has text behind a closing quote");

  std::vector<ColumnSample> samples(count);
  std::vector<std::string> names(count);
  for (std::size_t i = 0; i < count; ++i) {
    samples[i].first = guess_of_cell(cells_[i]);
    names[i] = text_of(cells_[i]);
  }
  const auto bytes = reader_.peek_writable().subspan(first.bytes);
  sample_rows_below({reinterpret_cast<char*>(bytes.data()), bytes.size()},
                    reader_.ended(), delimiter_, options.sample_rows, cells_,
                    samples);
  for (std::size_t i = 0; i < options.columns.size(); ++i) {
    samples[i].below = options.columns[i].type == CsvType::text ? CsvGuess::text
                                                                : CsvGuess::f64;
  }
  has_header_ = options.header == CsvHeader::yes;
  if (options.header == CsvHeader::detect) {
    const Told told = tell_header(samples);
    if (told == Told::neither) {
      return bad(
          "whether this is a header cannot be told from what is below "
          "it: say whether the file has one");
    }
    has_header_ = told == Told::header;
  }
  for (std::size_t i = 0; i < count; ++i) {
    CsvColumn column = options.columns.empty()
                           ? told_column(samples[i], has_header_, options)
                           : options.columns[i];
    if (has_header_ && !column.name.empty() && column.name != names[i]) {
      return bad(fmt::format("column {} is '{}' and declared as '{}'", i + 1,
                             excerpt_of(names[i]), column.name));
    }
    if (has_header_) column.name = names[i];
    if (column.name.empty()) column.name = fmt::format("column {}", i + 1);
    PLIMSOLL_RETURN_IF_ERROR(check_missing(column, path()));
    columns_.push_back(std::move(column));
  }
  if (has_header_) consume(first);
  return {};
}

}  // namespace plimsoll::io
