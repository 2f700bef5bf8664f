#include "report/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace plimsoll::report {
namespace {

// The vectors of RFC 3720, B.4.
TEST(Crc32c, KnownVectors) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
}

TEST(Crc32c, Mask) {
  // crc 0x00008000 turned by 15 bits is 1.
  EXPECT_EQ(mask_crc(0x00008000u), 0xa282ead9u);
  EXPECT_EQ(mask_crc(0), 0xa282ead8u);
}

}  // namespace
}  // namespace plimsoll::report
