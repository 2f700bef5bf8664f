#include "io/csv_row.h"

#include <cstring>

namespace plimsoll::io {
namespace {

class Splitter {
 public:
  Splitter(std::span<char> text, bool last, char delimiter,
           std::span<CsvCell> cells)
      : at_(text.data()),
        end_(text.data() + text.size()),
        last_(last),
        delimiter_(delimiter),
        cells_(cells) {}

  CsvRowShape split() {
    const char* const begin = at_;
    while (!done_ && take_cell()) {
    }
    shape_.bytes = static_cast<std::size_t>(at_ - begin);
    return shape_;
  }

 private:
  // False where the text ends before the cell does.
  bool take_cell() {
    return at_ != end_ && *at_ == '"' ? take_quoted() : take_plain();
  }

  bool take_plain() {
    char* const first = at_;
    while (at_ != end_ && *at_ != delimiter_ && *at_ != '\n') ++at_;
    if (at_ == end_ && !last_) return false;
    char* behind = at_;
    // CR belongs to the newline.
    if (at_ != end_ && *at_ == '\n' && behind != first && behind[-1] == '\r') {
      --behind;
    }
    add({first, static_cast<std::size_t>(behind - first), false});
    pass_separator();
    return true;
  }

  bool take_quoted() {
    char* const first = ++at_;
    bool doubled = false;
    for (;; ++at_) {
      if (at_ == end_) {
        shape_.in_quotes = true;
        return false;
      }
      if (*at_ == '\n') ++shape_.lines;
      if (*at_ != '"') continue;
      // At the end of the text, the byte behind it tells: see below.
      if (at_ + 1 == end_ || at_[1] != '"') break;
      doubled = true;
      ++at_;
    }
    char* const behind = at_++;
    add({first, static_cast<std::size_t>(behind - first), doubled});
    if (at_ != end_ && *at_ == '\r') {
      if (at_ + 1 == end_ && !last_) return false;
      if (at_ + 1 != end_ && at_[1] == '\n') ++at_;
    }
    // A damaged row ends where its line does.
    while (at_ != end_ && *at_ != delimiter_ && *at_ != '\n') {
      shape_.bad_quotes = true;
      ++at_;
    }
    if (at_ == end_ && !last_) return false;
    pass_separator();
    return true;
  }

  void add(const CsvCell& cell) {
    if (static_cast<std::size_t>(shape_.cells) < cells_.size()) {
      cells_[static_cast<std::size_t>(shape_.cells)] = cell;
    }
    ++shape_.cells;
  }

  void pass_separator() {
    if (at_ != end_ && *at_ == delimiter_) {
      ++at_;
      return;
    }
    if (at_ != end_) {
      ++at_;
      ++shape_.lines;
    }
    shape_.complete = done_ = true;
  }

  char* at_;
  char* const end_;
  const bool last_;
  const char delimiter_;
  const std::span<CsvCell> cells_;
  bool done_ = false;
  CsvRowShape shape_;
};

}  // namespace

CsvRowShape split_csv_row(std::span<char> text, bool last, char delimiter,
                          std::span<CsvCell> cells) {
  return Splitter(text, last, delimiter, cells).split();
}

void undouble_quotes(CsvCell& cell) {
  char* to = cell.data;
  const char* const end = cell.data + cell.bytes;
  for (const char* from = cell.data; from != end; ++from) {
    *to++ = *from;
    if (*from == '"') ++from;  // its twin: pairs are all there are
  }
  cell.bytes = static_cast<std::size_t>(to - cell.data);
  cell.has_doubled_quotes = false;
}

}  // namespace plimsoll::io
