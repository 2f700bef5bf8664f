#include "base/units.h"

#include <fmt/core.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace plimsoll {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr std::array<Unit, 9> kUnits = {{{"B", 1},
                                         {"KB", 1e3},
                                         {"MB", 1e6},
                                         {"GB", 1e9},
                                         {"TB", 1e12},
                                         {"KiB", 0x1p10},
                                         {"MiB", 0x1p20},
                                         {"GiB", 0x1p30},
                                         {"TiB", 0x1p40}}};

Error bad_size(std::string_view text, std::string_view why) {
  return {ErrorCode::bad_input,
          fmt::format("size \"{}\" {}: write a number and a unit (B, KB, MB, "
                      "GB, TB, KiB, MiB, GiB, TiB) as in \"128MiB\", or a "
                      "percentage of the memory as in \"40%\"",
                      text, why)};
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text[0])))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

}  // namespace

Result<std::int64_t> parse_size(std::string_view text,
                                std::int64_t whole_bytes) {
  const std::string_view trimmed = trim(text);
  double number = 0;
  const auto [end, failure] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number,
                      std::chars_format::fixed);
  if (failure != std::errc())
    return bad_size(text, "does not start with a number");
  if (!(number > 0)) return bad_size(text, "is not above zero");
  const std::string_view unit =
      trim(trimmed.substr(static_cast<std::size_t>(end - trimmed.data())));
  if (unit.empty()) return bad_size(text, "has no unit");

  double bytes = -1;
  if (unit == "%") {
    if (number > 100) return bad_size(text, "is more than the whole");
    bytes = number / 100 * static_cast<double>(whole_bytes);
  }
  for (const Unit& known : kUnits) {
    if (known.name == unit) bytes = number * known.bytes;
  }
  if (bytes < 0) {
    return bad_size(text, fmt::format("has the unknown unit \"{}\"", unit));
  }
  if (bytes >= 0x1p62) return bad_size(text, "is more than 2^62 bytes");
  if (bytes < 1) return bad_size(text, "is less than one byte");
  return static_cast<std::int64_t>(std::floor(bytes));
}

std::string format_bytes(std::int64_t bytes) {
  static constexpr std::array<std::string_view, 5> kNames = {"B", "KiB", "MiB",
                                                             "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  return fmt::format("{:.1f} {}", value, kNames[unit]);
}

std::string format_exact_bytes(std::int64_t bytes) {
  const auto wide = static_cast<std::uint64_t>(bytes);
  std::string digits = fmt::format("{}", bytes < 0 ? 0 - wide : wide);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), 1, ',');
  }
  return fmt::format("{}{} B", bytes < 0 ? "-" : "", digits);
}

}  // namespace plimsoll
