// Where the cells of a row of CSV begin and end, as RFC 4180 has it. Inside
// the io folder only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plimsoll::io {

// A cell's bytes, without the quotes around it.
struct CsvCell {
  char* data = nullptr;
  std::size_t bytes = 0;
  bool has_doubled_quotes = false;  // "" stands for one quote
};

struct CsvRowShape {
  bool complete = false;    // otherwise the row goes on behind the text
  bool in_quotes = false;   // there it ends inside quotes
  bool bad_quotes = false;  // text behind a closing quote
  std::int64_t cells = 0;   // may be more than there was room for
  std::int64_t lines = 0;   // newlines, those in quotes included
  std::size_t bytes = 0;    // with the newline
};

// Splits the row that `text` begins with; the first cells go to `cells`. `last`
// says that nothing follows `text`, so that its end ends the row.
CsvRowShape split_csv_row(std::span<char> text, bool last, char delimiter,
                          std::span<CsvCell> cells);

// Makes one of each pair of quotes, in place.
void undouble_quotes(CsvCell& cell);

}  // namespace plimsoll::io
