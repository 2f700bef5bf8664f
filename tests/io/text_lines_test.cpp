#include "io/text_lines.h"

#include <gtest/gtest.h>

#include <vector>

#include "io/reader_memory.h"
#include "io/temporary_folder.h"

namespace plimsoll::io {
namespace {

class LineReaderTest : public ::testing::Test {
 protected:
  LineReader open(std::string_view text, std::int64_t window) {
    write_bytes(path_, text);
    memory_ = ReaderMemory(window);
    auto reader = ByteReader::open(path_, memory_);
    EXPECT_TRUE(reader);
    return LineReader(*std::move(reader));
  }
  std::vector<std::string> lines(std::string_view text, std::int64_t window) {
    LineReader reader = open(text, window);
    std::vector<std::string> all;
    TextLine line;
    for (;;) {
      const auto more = reader.next(line);
      if (!more) {
        all.push_back(more.error().message);
        return all;
      }
      if (!*more) return all;
      all.emplace_back(line.text);
      EXPECT_EQ(line.number, static_cast<std::int64_t>(all.size()));
    }
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.file("a.txt");
  ReaderMemory memory_{0};
};

using Lines = std::vector<std::string>;

TEST_F(LineReaderTest, SplitsAtEveryKindOfNewline) {
  for (const std::int64_t window : {6, 7, 10, 1000}) {
    EXPECT_EQ(lines("one\ntwo\r\n\nfour", window),
              (Lines{"one", "two", "", "four"}));
    EXPECT_EQ(lines("a\n", window), Lines{"a"});
    EXPECT_EQ(lines("\n\n", window), (Lines{"", ""}));
    EXPECT_EQ(lines("\r\n", window), Lines{""});
    EXPECT_EQ(lines("", window), Lines{});
    EXPECT_EQ(lines("a\rb\r", window), (Lines{"a\rb\r"}));
    EXPECT_EQ(lines(std::string("a\0b\n", 4), window),
              Lines{std::string("a\0b", 3)});
  }
}

TEST_F(LineReaderTest, KnowsOffsetsAndComesBack) {
  LineReader reader = open("one\r\ntwo\nthree\n", 8);
  TextLine line;
  ASSERT_TRUE(*reader.next(line));
  ASSERT_TRUE(*reader.next(line));
  EXPECT_EQ(line.offset, 5);
  ASSERT_TRUE(*reader.next(line));
  EXPECT_EQ(line.offset, 9);
  EXPECT_EQ(line.text, "three");
  ASSERT_TRUE(reader.seek(5, 2));
  ASSERT_TRUE(*reader.next(line));
  EXPECT_EQ(line.text, "two");
  EXPECT_EQ(line.number, 2);
}

TEST_F(LineReaderTest, ALineLongerThanTheBufferIsAnError) {
  LineReader reader = open("ab\n0123456789\n", 8);
  TextLine line;
  ASSERT_TRUE(*reader.next(line));
  for (int again = 0; again < 2; ++again) {
    const auto more = reader.next(line);
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().message,
              path_ +
                  ": line 2 at offset 3 is too long: 8 bytes fill the buffer "
                  "before its end");
  }
  // With its newline it just fits.
  EXPECT_EQ(lines("0123456\n", 8), Lines{"0123456"});
}

TEST(ExcerptOf, IsShortAndPrintable) {
  EXPECT_EQ(excerpt_of("a\n\x1b[2J\x7f"
                       "b"),
            "a??[2J?b");
  EXPECT_EQ(excerpt_of(std::string(100, 'x')), std::string(60, 'x') + "...");
}

}  // namespace
}  // namespace plimsoll::io
