#include "memory/proc_text.h"

#include <charconv>
#include <cstdio>
#include <limits>
#include <memory>

namespace plimsoll {

std::optional<std::string> read_text_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), "re"), std::fclose);
  if (!file) return std::nullopt;
  std::string text;
  char block[4096];
  for (std::size_t got; (got = std::fread(block, 1, sizeof block, file.get()));)
    text.append(block, got);
  if (std::ferror(file.get()) != 0) return std::nullopt;
  return text;
}

std::optional<std::int64_t> read_number_file(const std::string& path) {
  const std::optional<std::string> text = read_text_file(path);
  return text ? leading_number(*text) : std::nullopt;
}

std::optional<std::int64_t> leading_number(std::string_view text) noexcept {
  const std::size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, failure] =
      std::from_chars(text.data() + start, text.data() + text.size(), number);
  if (failure == std::errc::result_out_of_range) {
    return std::numeric_limits<std::int64_t>::max();
  }
  if (failure != std::errc()) return std::nullopt;
  return number;
}

std::optional<std::string_view> find_field(std::string_view text,
                                           std::string_view key) noexcept {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(key)) return line.substr(key.size());
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return std::nullopt;
}

std::optional<std::int64_t> kib_field(std::string_view text,
                                      std::string_view key) noexcept {
  const std::optional<std::string_view> field = find_field(text, key);
  if (!field) return std::nullopt;
  std::optional<std::int64_t> number = leading_number(*field);
  constexpr std::int64_t kMost =
      std::numeric_limits<std::int64_t>::max() / 1024;
  if (!number || *number < 0 || *number > kMost) return std::nullopt;
  return *number * 1024;
}

std::vector<std::string_view> split_fields(std::string_view text,
                                           char separator) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t end = text.find(separator);
    fields.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return fields;
    text.remove_prefix(end + 1);
  }
}

}  // namespace plimsoll
