#include "io/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace plimsoll::io {
namespace {

constexpr std::size_t kWord = 8;
using Table = std::array<std::uint32_t, 256>;

// kTables[k][b]: what byte b does to the checksum k bytes later.
constexpr std::array<Table, kWord> make_tables() {
  std::array<Table, kWord> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0x82f63b78u : 0u);
    }
    tables[0][i] = crc;
  }
  for (std::size_t k = 1; k < kWord; ++k) {
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint32_t crc = tables[k - 1][i];
      tables[k][i] = (crc >> 8) ^ tables[0][crc & 0xffu];
    }
  }
  return tables;
}

constexpr auto kTables = make_tables();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(
    std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint64_t crc = static_cast<std::uint32_t>(~before);
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kWord; left -= kWord, at += kWord) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, kWord);
    crc = _mm_crc32_u64(crc, word);
  }
  auto last = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++at) {
    last = _mm_crc32_u8(last, static_cast<unsigned char>(*at));
  }
  return ~last;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes,
                              std::uint32_t before) {
  std::uint32_t crc = ~before;
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(bytes[i]);
  };
  std::size_t i = 0;
  for (; i + kWord <= bytes.size(); i += kWord) {
    std::uint32_t next = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      next ^= kTables[7 - k][(byte(i + k) ^ (crc >> (8 * k))) & 0xffu];
    }
    for (std::size_t k = 4; k < kWord; ++k) {
      next ^= kTables[7 - k][byte(i + k)];
    }
    crc = next;
  }
  for (; i < bytes.size(); ++i) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ byte(i)) & 0xffu];
  }
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_by_instruction(bytes, before);
#endif
  return crc32c_by_table(bytes, before);
}

}  // namespace plimsoll::io
