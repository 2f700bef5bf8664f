// CRC-32C (Castagnoli), as TFRecord files carry it.
#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll::report {

std::uint32_t crc32c(std::string_view bytes);

// Checksums of data that holds checksums are weak: stored ones are turned.
constexpr std::uint32_t mask_crc(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace plimsoll::report
