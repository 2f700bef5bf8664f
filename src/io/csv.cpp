#include "io/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "io/csv_row.h"
#include "io/csv_values.h"
#include "io/text_lines.h"

namespace plimsoll::io {
namespace {

std::span<char> as_text(std::span<std::byte> bytes) {
  return {reinterpret_cast<char*>(bytes.data()), bytes.size()};
}

bool is_blank_line(std::span<const char> row) {
  return row[0] == '\n' ||
         (row[0] == '\r' &&
          (row.size() == 1 || (row.size() == 2 && row[1] == '\n')));
}

}  // namespace

std::string_view name_of(CsvType type) {
  constexpr std::string_view kNames[] = {"f32", "f64", "i32", "i64", "text"};
  return kNames[static_cast<std::size_t>(type)];
}

CsvReader::CsvReader(ByteReader reader, char delimiter)
    : reader_(std::move(reader)), delimiter_(delimiter) {}
CsvReader::CsvReader(CsvReader&&) noexcept = default;
CsvReader::~CsvReader() = default;

Error CsvReader::bad(const std::string& what) const {
  return {ErrorCode::bad_input,
          fmt::format("{}: line {}: {}", path(), line_, what)};
}

Result<CsvReader> CsvReader::open(ByteReader reader,
                                  const CsvOptions& options) {
  CsvReader csv(std::move(reader), options.delimiter);
  PLIMSOLL_RETURN_IF_ERROR(csv.start(options));
  return csv;
}

// Puts the next row, whole, into the window and its cells into cells_.
Result<bool> CsvReader::split_next(CsvRowShape& shape) {
  PLIMSOLL_RETURN_IF_ERROR(reader_.fill(1));
  while (reader_.available_bytes() > 0) {
    const std::span<char> text = as_text(reader_.peek_writable());
    shape = split_csv_row(text, reader_.ended(), delimiter_, cells_);
    if (shape.complete) {
      if (!is_blank_line(text.first(shape.bytes))) return true;
      consume(shape);
      PLIMSOLL_RETURN_IF_ERROR(reader_.fill(1));
      continue;
    }
    if (reader_.ended()) {
      return bad(
          "the row that begins here has a quote that is not closed "
          "before the end of the file");
    }
    const std::int64_t seen = reader_.available_bytes();
    if (seen == reader_.window_bytes()) {
      return bad(fmt::format(
          "the row that begins here is too long: {} bytes fill the buffer "
          "before its end{}",
          seen, shape.in_quotes ? "; perhaps a quote is not closed" : ""));
    }
    // By doubling, or splitting from the row's start would take forever.
    const Status filled =
        reader_.fill(std::min(2 * seen, reader_.window_bytes()));
    if (!filled && reader_.available_bytes() == seen) return filled.error();
  }
  return false;
}

void CsvReader::consume(const CsvRowShape& shape) {
  reader_.consume(static_cast<std::int64_t>(shape.bytes));
  line_ += shape.lines;
}

Result<bool> CsvReader::next(std::span<void* const> to) {
  can_continue_ = false;
  CsvRowShape shape;
  PLIMSOLL_ASSIGN(const bool found, split_next(shape));
  can_continue_ = true;
  if (!found) return false;
  const Status parsed = parse_row(shape, to);
  consume(shape);
  ++row_;
  if (!parsed) return parsed.error();
  return true;
}

Status CsvReader::parse_row(const CsvRowShape& shape,
                            std::span<void* const> to) {
  if (to.size() != columns_.size()) {
    return Error{ErrorCode::internal,
                 fmt::format("{}: memory for {} columns, there are {}", path(),
                             to.size(), columns_.size())};
  }
  if (shape.bad_quotes) {
    return bad(
        "the row that begins here has text behind a closing quote; a "
        "quote inside quotes is written twice");
  }
  if (static_cast<std::size_t>(shape.cells) != columns_.size()) {
    return bad(fmt::format("has {} cells, the file {} columns", shape.cells,
                           columns_.size()));
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (to[i] != nullptr) PLIMSOLL_RETURN_IF_ERROR(parse_cell(i, to[i]));
  }
  return {};
}

Status CsvReader::parse_cell(std::size_t index, void* to) {
  const CsvColumn& column = columns_[index];
  CsvCell& cell = cells_[index];
  if (column.type == CsvType::text) {
    if (cell.has_doubled_quotes) undouble_quotes(cell);
    auto& text = *static_cast<std::string_view*>(to);
    text = {cell.data, cell.bytes};
    if (text.empty() && column.missing) text = *column.missing;
    return {};
  }
  std::string_view text = trimmed({cell.data, cell.bytes});
  if (text.empty()) {
    if (!column.missing) {
      return bad(fmt::format("column '{}': is empty; {} is wanted",
                             excerpt_of(column.name), name_of(column.type)));
    }
    text = *column.missing;
  }
  const CsvParse parsed = parse_number(text, column.type, to);
  if (parsed == CsvParse::good) return {};
  return bad(fmt::format(
      "column '{}': \"{}\" is {} {}", excerpt_of(column.name), excerpt_of(text),
      parsed == CsvParse::not_a_number ? "no" : "out of the range of",
      name_of(column.type)));
}

Status CsvReader::seek(const Position& position) {
  PLIMSOLL_RETURN_IF_ERROR(reader_.seek(position.offset));
  line_ = position.line;
  row_ = position.row;
  return {};
}

}  // namespace plimsoll::io
