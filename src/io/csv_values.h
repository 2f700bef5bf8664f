// What the cells of a CSV file say. Inside the io folder only.
#pragma once

#include <cstdint>
#include <string_view>

#include "io/csv.h"

namespace plimsoll::io {

// Without blanks at either end.
std::string_view trimmed(std::string_view text);

enum class CsvParse : std::uint8_t { good, not_a_number, out_of_range };

// Writes the number that `text`, without blanks around it, spells. For columns
// of numbers alone.
CsvParse parse_number(std::string_view text, CsvType type, void* to);

// What a cell or a column of cells could be: the larger holds the smaller.
enum class CsvGuess : std::uint8_t { nothing, i64, f32, f64, text };

constexpr bool is_number(CsvGuess guess) {
  return guess != CsvGuess::nothing && guess != CsvGuess::text;
}

CsvGuess guess_of(std::string_view text);

}  // namespace plimsoll::io
