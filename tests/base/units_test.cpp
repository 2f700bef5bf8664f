#include "base/units.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace plimsoll {
namespace {

TEST(UnitsTest, ReadsEveryUnit) {
  const std::pair<const char*, std::int64_t> kCases[] = {
      {"1B", 1},
      {"2KB", 2000},
      {"3MB", 3000000},
      {"4GB", 4000000000},
      {"5TB", 5000000000000},
      {"2KiB", 2048},
      {"128MiB", 128 * kMiB},
      {"2GiB", 2 * kGiB},
      {"1TiB", 1024 * kGiB},
      {"1.5GiB", 1536 * kMiB},
      {" 2 GB ", 2000000000},
      {"0.5KiB", 512},
      {"40%", 400},
      {"12.5%", 125},
      {"100%", 1000},
  };
  for (const auto& [text, bytes] : kCases) {
    const auto size = parse_size(text, 1000);
    ASSERT_TRUE(size.ok()) << size.error().message;
    EXPECT_EQ(*size, bytes) << text;
  }
}

TEST(UnitsTest, BadSizesSayWhatIsWrong) {
  const std::pair<const char*, const char*> kCases[] = {
      {"12", "no unit"},
      {"-1GiB", "not above zero"},
      {"1XiB", "\"XiB\""},
      {"0%", "not above zero"},
      {"0B", "not above zero"},
      {"101%", "more than the whole"},
      {"", "number"},
      {"GiB", "number"},
      {"1gib", "\"gib\""},
      {"1e3MiB", "\"e3MiB\""},
      {"nan%", "above zero"},
      {"infB", "2^62"},
      {"0.5B", "less than one byte"},
      {"1 2 GiB", "\"2 GiB\""},
      {"99999999TiB", "2^62"},
      {"0x10MiB", "not above zero"},
      {"+1MiB", "number"},
      {"1MiB2", "\"MiB2\""},
  };
  for (const auto& [text, why] : kCases) {
    const auto size = parse_size(text, 1000);
    ASSERT_FALSE(size.ok()) << text << " read as " << *size;
    EXPECT_EQ(size.error().code, ErrorCode::bad_input);
    EXPECT_NE(size.error().message.find(why), std::string::npos)
        << size.error().message;
    EXPECT_NE(size.error().message.find("128MiB"), std::string::npos);
  }
}

TEST(UnitsTest, FormatsForPeople) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(212 * kMiB), "212.0 MiB");
  EXPECT_EQ(format_bytes(-3 * kGiB), "-3.0 GiB");
  EXPECT_EQ(format_exact_bytes(0), "0 B");
  EXPECT_EQ(format_exact_bytes(999), "999 B");
  EXPECT_EQ(format_exact_bytes(12345678), "12,345,678 B");
  EXPECT_EQ(format_exact_bytes(-1000), "-1,000 B");
  EXPECT_EQ(format_exact_bytes(std::numeric_limits<std::int64_t>::min()),
            "-9,223,372,036,854,775,808 B");
}

TEST(UnitsTest, RoundsUpToGranules) {
  EXPECT_EQ(round_up(0, 4096), 0);
  EXPECT_EQ(round_up(1, 4096), 4096);
  EXPECT_EQ(round_up(4096, 4096), 4096);
  EXPECT_EQ(round_up(4097, 4096), 8192);
}

}  // namespace
}  // namespace plimsoll
