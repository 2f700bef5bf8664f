#include "io/tar_header.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace plimsoll::io {
namespace {

constexpr std::size_t kNameAt = 0, kNameBytes = 100;
constexpr std::size_t kSizeAt = 124, kSizeBytes = 12;
constexpr std::size_t kSumAt = 148, kSumBytes = 8;
constexpr std::size_t kTypeAt = 156;
constexpr std::size_t kMagicAt = 257;
constexpr std::size_t kPrefixAt = 345, kPrefixBytes = 155;

std::string_view field(const TarBlock& block, std::size_t at,
                       std::size_t bytes) {
  const std::string_view whole(block.data() + at, bytes);
  return whole.substr(0, whole.find('\0'));
}

std::optional<std::int64_t> octal(std::string_view text) {
  const auto start = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(start);
  const auto end = text.find_first_of(std::string_view(" \0", 2));
  text = text.substr(0, end);
  if (text.empty()) return 0;
  std::int64_t value = 0;
  const auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, 8);
  if (error != std::errc() || rest != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

// Big-endian behind a first bit that says so.
std::optional<std::int64_t> binary(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::uint64_t byte = static_cast<unsigned char>(bytes[i]);
    if (i == 0) byte &= 0x7f;
    if (value >> 55 != 0) return std::nullopt;
    value = value << 8 | byte;
  }
  if (value > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace

bool is_zero(const TarBlock& block) {
  return std::all_of(block.begin(), block.end(),
                     [](char byte) { return byte == 0; });
}

bool checksum_is_right(const TarBlock& block) {
  std::int64_t plain = 0;
  std::int64_t with_signs = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    // The sum itself counts as spaces.
    const bool inside = i >= kSumAt && i < kSumAt + kSumBytes;
    const char byte = inside ? ' ' : block[i];
    plain += static_cast<unsigned char>(byte);
    with_signs += static_cast<signed char>(byte);
  }
  const auto stored = octal({block.data() + kSumAt, kSumBytes});
  return stored && (*stored == plain || *stored == with_signs);
}

std::string_view tar_name(const TarBlock& block) {
  return field(block, kNameAt, kNameBytes);
}

std::string_view tar_prefix(const TarBlock& block) {
  // GNU's own format ("ustar  ") keeps times where ustar has the prefix.
  const std::string_view magic(block.data() + kMagicAt, 6);
  if (magic != std::string_view("ustar\0", 6)) return {};
  return field(block, kPrefixAt, kPrefixBytes);
}

char tar_type(const TarBlock& block) { return block[kTypeAt]; }

std::optional<std::int64_t> tar_size(const TarBlock& block) {
  const std::string_view text(block.data() + kSizeAt, kSizeBytes);
  const auto first = static_cast<unsigned char>(text[0]);
  if (first == 0xff) return std::nullopt;  // negative
  return first & 0x80 ? binary(text) : octal(text);
}

// "17 path=some/name\n": the length counts all of the record.
Result<PaxRecords> parse_pax(std::string_view text) {
  PaxRecords records;
  const auto bad = [](std::size_t at) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("its pax header has no record \"LENGTH NAME=VALUE\" at "
                    "byte {}",
                    at)};
  };
  std::size_t at = 0;
  while (at < text.size() && text[at] != '\0') {
    const std::string_view rest = text.substr(at);
    std::size_t length = 0;
    const auto [digits_end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), length);
    const auto digits = static_cast<std::size_t>(digits_end - rest.data());
    if (error != std::errc() || length > rest.size() || length < digits + 3 ||
        rest[digits] != ' ' || rest[length - 1] != '\n') {
      return bad(at);
    }
    const std::string_view record =
        rest.substr(digits + 1, length - digits - 2);
    const auto equals = record.find('=');
    if (equals == std::string_view::npos) return bad(at);
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    if (key == "path") records.path = value;
    if (key.starts_with("GNU.sparse.")) records.sparse = true;
    if (key == "size") {
      std::int64_t size = 0;
      const auto [end, wrong] =
          std::from_chars(value.data(), value.data() + value.size(), size);
      if (wrong != std::errc() || end != value.data() + value.size() ||
          size < 0) {
        return bad(at);
      }
      records.size_bytes = size;
    }
    at += length;
  }
  return records;
}

}  // namespace plimsoll::io
