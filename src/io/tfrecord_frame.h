// The bytes around a record's data. Inside the io folder only.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "base/crc32c.h"
#include "io/tfrecord.h"

namespace plimsoll::io {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kChecksumBytes = 4;

inline std::uint32_t load_checksum(const std::byte* at) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, kChecksumBytes);
  return value;
}

// The length that a header claims; nothing where its checksum is wrong.
inline std::optional<std::uint64_t> read_tfrecord_header(
    std::span<const std::byte> header) {
  const std::uint32_t crc = mask_crc(crc32c(header.first(kLengthBytes)));
  if (load_checksum(header.data() + kLengthBytes) != crc) return std::nullopt;
  std::uint64_t length = 0;
  std::memcpy(&length, header.data(), kLengthBytes);
  return length;
}

}  // namespace plimsoll::io
