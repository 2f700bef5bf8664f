#include "base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace plimsoll {
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
// The instruction takes three cycles and one can begin in each: three streams
// of this many bytes side by side.
constexpr std::size_t kStreamBytes = 128;

// kShift[k][b]: what byte k of a checksum, being b, is a stream later.
constexpr std::array<Table, 4> make_shift() {
  std::array<std::uint32_t, 32> of_bit{};
  for (std::size_t bit = 0; bit < of_bit.size(); ++bit) {
    std::uint32_t crc = 1u << bit;
    for (std::size_t i = 0; i < kStreamBytes; ++i) {
      crc = (crc >> 8) ^ kTables[0][crc & 0xffu];
    }
    of_bit[bit] = crc;
  }
  std::array<Table, 4> shift{};
  for (std::size_t k = 0; k < shift.size(); ++k) {
    for (std::size_t b = 0; b < 256; ++b) {
      for (std::size_t bit = 0; bit < 8; ++bit) {
        if ((b >> bit & 1) != 0) shift[k][b] ^= of_bit[8 * k + bit];
      }
    }
  }
  return shift;
}

constexpr auto kShift = make_shift();

std::uint64_t shifted(std::uint64_t crc) {
  return kShift[0][crc & 0xff] ^ kShift[1][crc >> 8 & 0xff] ^
         kShift[2][crc >> 16 & 0xff] ^ kShift[3][crc >> 24 & 0xff];
}

std::uint64_t load_word(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, kWord);
  return word;
}

__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(
    std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint64_t crc = static_cast<std::uint32_t>(~before);
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 3 * kStreamBytes; left -= 3 * kStreamBytes) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < kStreamBytes; i += kWord) {
      crc = _mm_crc32_u64(crc, load_word(at + i));
      second = _mm_crc32_u64(second, load_word(at + kStreamBytes + i));
      third = _mm_crc32_u64(third, load_word(at + 2 * kStreamBytes + i));
    }
    crc = shifted(shifted(crc) ^ second) ^ third;
    at += 3 * kStreamBytes;
  }
  for (; left >= kWord; left -= kWord, at += kWord) {
    crc = _mm_crc32_u64(crc, load_word(at));
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

}  // namespace plimsoll
