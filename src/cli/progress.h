// The progress line: redrawn in place on a terminal, plain lines in a log.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "train/trainer.h"

namespace plimsoll::cli {

// Writes one line of progress into `buffer` and returns it. Takes no memory:
// it runs inside the training loop.
std::string_view progress_line(const train::Progress& progress, char* buffer,
                               std::size_t capacity);

// The longest start of `text` that fills at most `columns`, cut between
// characters of UTF-8.
std::string_view clip_to_columns(std::string_view text, int columns);

class ProgressPrinter {
 public:
  using Clock = std::chrono::steady_clock;

  // `file` is a descriptor. Not a terminal: a line every ten seconds and one
  // at each epoch's end.
  ProgressPrinter(int file, bool terminal);

  void show(const train::Progress& progress, Clock::time_point now);
  // Ends a line that is still being redrawn.
  void finish();

 private:
  void put(std::string_view text);
  int columns() const;

  int file_;
  bool terminal_;
  bool line_open_ = false;
  Clock::time_point last_{};
};

}  // namespace plimsoll::cli
