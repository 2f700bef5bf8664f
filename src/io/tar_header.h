// The fields of a tar header block and the records of a pax header.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace plimsoll::io {

inline constexpr std::int64_t kTarBlockBytes = 512;
using TarBlock = std::array<char, kTarBlockBytes>;

bool is_zero(const TarBlock& block);
// Sums are of unsigned bytes; very old programs took them for signed.
bool checksum_is_right(const TarBlock& block);

std::string_view tar_name(const TarBlock& block);
std::string_view tar_prefix(const TarBlock& block);  // ustar's: the folders
char tar_type(const TarBlock& block);
// Octal or, from GNU, binary; nothing if it is neither or negative.
std::optional<std::int64_t> tar_size(const TarBlock& block);

struct PaxRecords {
  std::optional<std::string_view> path;
  std::optional<std::int64_t> size_bytes;
  bool sparse = false;
};
// Errors say what is wrong at which byte of `text`.
Result<PaxRecords> parse_pax(std::string_view text);

}  // namespace plimsoll::io
