#include "io/csv_values.h"

#include <charconv>
#include <cmath>
#include <system_error>

namespace plimsoll::io {
namespace {

template <class Number>
CsvParse parse_as(std::string_view text, Number& number) {
  // from_chars takes no plus sign; spreadsheets write one.
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') {
    text.remove_prefix(1);
  }
  const char* const end = text.data() + text.size();
  const auto [stopped, code] = std::from_chars(text.data(), end, number);
  if (code == std::errc::invalid_argument || stopped != end) {
    return CsvParse::not_a_number;
  }
  return code == std::errc() ? CsvParse::good : CsvParse::out_of_range;
}

// A number too near to zero for a float is rounded like any other.
CsvParse parse_f32(std::string_view text, float& number) {
  const CsvParse parsed = parse_as(text, number);
  if (parsed != CsvParse::out_of_range) return parsed;
  double wide = 0;
  if (parse_as(text, wide) != CsvParse::good || std::fabs(wide) > 1) {
    return CsvParse::out_of_range;
  }
  number = static_cast<float>(wide);
  return CsvParse::good;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) {
    return c == ' ' || c == '\t' || c == '\r';
  };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

CsvParse parse_number(std::string_view text, CsvType type, void* to) {
  switch (type) {
    case CsvType::f32:
      return parse_f32(text, *static_cast<float*>(to));
    case CsvType::f64:
      return parse_as(text, *static_cast<double*>(to));
    case CsvType::i32:
      return parse_as(text, *static_cast<std::int32_t*>(to));
    case CsvType::i64:
      return parse_as(text, *static_cast<std::int64_t*>(to));
    case CsvType::text:
      break;
  }
  return CsvParse::not_a_number;
}

CsvGuess guess_of(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return CsvGuess::nothing;
  std::int64_t whole = 0;
  if (parse_as(text, whole) == CsvParse::good) return CsvGuess::i64;
  float single = 0;
  if (parse_f32(text, single) == CsvParse::good) return CsvGuess::f32;
  double wide = 0;
  if (parse_as(text, wide) == CsvParse::good) return CsvGuess::f64;
  return CsvGuess::text;
}

}  // namespace plimsoll::io
