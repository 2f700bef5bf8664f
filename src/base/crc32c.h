// CRC-32C (Castagnoli), as TFRecord files carry it; by the processor's own
// instruction where it has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace plimsoll {

// Of `bytes` behind others whose checksum is `before`.
std::uint32_t crc32c(std::span<const std::byte> bytes,
                     std::uint32_t before = 0);

inline std::uint32_t crc32c(std::string_view text) {
  return crc32c(std::as_bytes(std::span(text)));
}

// The same without the instruction: for processors that lack it, and tests.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes,
                              std::uint32_t before = 0);

// Checksums of data that holds checksums are weak: stored ones are turned.
constexpr std::uint32_t mask_crc(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace plimsoll
