#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace plimsoll {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// The vectors of RFC 3720, B.4.
TEST(Crc32c, KnownVectors) {
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  const std::pair<std::string, std::uint32_t> vectors[] = {
      {"", 0u},
      {std::string(32, '\0'), 0x8a9136aau},
      {std::string(32, '\xff'), 0x62a8ab43u},
      {rising, 0x46dd794eu},
      {"123456789", 0xe3069283u}};
  for (const auto& [text, crc] : vectors) {
    EXPECT_EQ(crc32c(bytes_of(text)), crc);
    EXPECT_EQ(crc32c_by_table(bytes_of(text)), crc);
  }
}

TEST(Crc32c, InstructionAndTableAgreeAndGoOn) {
  std::mt19937 random(1);
  std::string text(5000, '\0');
  for (char& c : text) c = static_cast<char>(random());
  for (std::size_t size = 0; size < 300; ++size) {
    const auto bytes = bytes_of(text).subspan(size % 9, size * 7);
    const std::uint32_t crc = crc32c_by_table(bytes);
    EXPECT_EQ(crc32c(bytes), crc);
    const std::size_t half = bytes.size() / 2;
    EXPECT_EQ(crc32c(bytes.subspan(half), crc32c(bytes.first(half))), crc);
    EXPECT_EQ(crc32c_by_table(bytes.subspan(half),
                              crc32c_by_table(bytes.first(half))),
              crc);
  }
}

TEST(Crc32c, Mask) {
  // crc 0x00008000 turned by 15 bits is 1.
  EXPECT_EQ(mask_crc(0x00008000u), 0xa282ead9u);
  EXPECT_EQ(mask_crc(0), 0xa282ead8u);
}

}  // namespace
}  // namespace plimsoll
