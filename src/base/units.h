// Byte sizes as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace plimsoll {

inline constexpr std::int64_t kKiB = 1024;
inline constexpr std::int64_t kMiB = 1024 * kKiB;
inline constexpr std::int64_t kGiB = 1024 * kMiB;

constexpr std::int64_t round_up(std::int64_t bytes, std::int64_t granule) {
  return (bytes + granule - 1) / granule * granule;
}

// Parses "128MiB", "2 GB", "1.5GiB" or "40%" (of `whole_bytes`). A bare number,
// a zero, a negative size and an unknown unit are errors that say what is
// right.
Result<std::int64_t> parse_size(std::string_view text,
                                std::int64_t whole_bytes);

// "212.0 MiB": for people; JSON carries plain bytes.
std::string format_bytes(std::int64_t bytes);
// "12,345,678 B": exact, for people.
std::string format_exact_bytes(std::int64_t bytes);

}  // namespace plimsoll
