#include "io/byte_reader.h"

#include <gtest/gtest.h>

#include <random>

#include "io/cached_file.h"
#include "io/reader_memory.h"
#include "io/temporary_folder.h"

namespace plimsoll::io {
namespace {

using ::testing::Test;

// Compresses well, and not by one run: history is needed to undo it.
std::string sample(std::size_t bytes) {
  std::mt19937 random(3);
  std::string text;
  while (text.size() < bytes) {
    if (text.size() > 100 && random() % 2 == 0) {
      text += text.substr(random() % (text.size() - 50), 50);
    } else {
      text += static_cast<char>(random());
    }
  }
  text.resize(bytes);
  return text;
}

class ByteReaderTest : public Test {
 protected:
  std::string write(std::string_view bytes) {
    write_bytes(path_, bytes);
    return path_;
  }
  const TemporaryFolder folder_;
  const std::string path_ = folder_.file("data");
};

TEST_F(ByteReaderTest, ReadsPlainFilesThroughASmallWindow) {
  const std::string text = sample(5000);
  write(text);
  for (const std::int64_t window : {1, 7, 64, 4999, 5000, 5001, 100000}) {
    ReaderMemory memory(byte_reader_bytes(window, Compression::none));
    auto reader = ByteReader::open(path_, memory);
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_FALSE(reader->is_gzip());
    EXPECT_EQ(reader->window_bytes(), window);
    const auto all = read_all(*reader, std::min<std::int64_t>(window, 13));
    ASSERT_TRUE(all);
    EXPECT_EQ(*all, text);
    EXPECT_EQ(reader->position(), 5000);
    EXPECT_TRUE(reader->ended());
  }
}

TEST_F(ByteReaderTest, FillShowsWhatIsAskedForAndKeepsWhatWasThere) {
  write("0123456789");
  ReaderMemory memory(6);
  auto reader = ByteReader::open(path_, memory);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(reader->fill(4));
  reader->consume(3);
  EXPECT_EQ(reader->position(), 3);
  ASSERT_TRUE(reader->fill(6));
  EXPECT_EQ(text_of(reader->peek()), "345678");
  // More than a window is a window.
  ASSERT_TRUE(reader->fill(1000));
  EXPECT_EQ(text_of(reader->peek()), "345678");
  EXPECT_FALSE(reader->ended());
  reader->consume(5);
  ASSERT_TRUE(reader->fill(6));
  EXPECT_EQ(text_of(reader->peek()), "89");
  reader->consume(1000);
  EXPECT_EQ(reader->position(), 10);
}

TEST_F(ByteReaderTest, ReadsGzipByItsFirstBytes) {
  const std::string text = sample(300000);
  write(gzip(text));
  for (const std::int64_t window : {1, 50, 70000, 400000}) {
    ReaderMemory memory(byte_reader_bytes(window));
    auto reader = ByteReader::open(path_, memory);
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_TRUE(reader->is_gzip());
    EXPECT_GE(reader->window_bytes(), window);
    // A reader that moves keeps its place.
    auto moved = std::move(*reader);
    const auto all = read_all(moved, std::min<std::int64_t>(window, 1000));
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(*all, text);
  }
}

TEST_F(ByteReaderTest, GzipWorksInMemoryOfAnyAlignment) {
  const std::string text = sample(100000);
  write(gzip(text));
  std::vector<std::byte> memory(
      static_cast<std::size_t>(byte_reader_bytes(100) + 16));
  for (std::size_t shift = 0; shift < 16; ++shift) {
    auto reader = ByteReader::open(
        path_, std::span(memory).subspan(
                   shift, static_cast<std::size_t>(byte_reader_bytes(100))));
    ASSERT_TRUE(reader) << reader.error().message;
    const auto all = read_all(*reader, 100);
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(*all, text);
  }
}

TEST_F(ByteReaderTest, MembersOfGzipAreReadThrough) {
  write(gzip("one,") + gzip("") + gzip("two,") + gzip("three") +
        std::string(600, '\0'));
  ReaderMemory memory(byte_reader_bytes(3));
  auto reader = ByteReader::open(path_, memory);
  ASSERT_TRUE(reader);
  const auto all = read_all(*reader, 3);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(*all, "one,two,three");
}

TEST_F(ByteReaderTest, WhatFollowsGzipMustBeGzip) {
  const std::string member = gzip("text");
  write(member + "rubbish");
  ReaderMemory memory(byte_reader_bytes(100));
  auto reader = ByteReader::open(path_, memory);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(reader->fill(4)) << "what comes before is good";
  EXPECT_EQ(text_of(reader->peek()), "text");
  reader->consume(4);
  for (int again = 0; again < 2; ++again) {
    const auto status = reader->fill(1);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, path_ + ": has bytes from offset " +
                                          std::to_string(member.size()) +
                                          " on that are no gzip");
  }
}

TEST_F(ByteReaderTest, GzipThatIsCutGivesWhatIsThereAndThenAnError) {
  const std::string text = sample(2000);
  const std::string whole = gzip(text);
  ReaderMemory memory(byte_reader_bytes(300));
  for (std::size_t size = 3; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    auto reader = ByteReader::open(path_, memory);
    ASSERT_TRUE(reader);
    std::string seen;
    Status status;
    for (;;) {
      status = reader->fill(1);
      if (!status || reader->available_bytes() == 0) break;
      seen += text_of(reader->peek().first(1));
      reader->consume(1);
    }
    ASSERT_FALSE(status) << size << " of " << whole.size();
    EXPECT_EQ(seen, text.substr(0, seen.size()));
    EXPECT_NE(status.error().message.find(path_ + ": is truncated"),
              std::string::npos);
  }
}

TEST_F(ByteReaderTest, DamagedGzipIsAnErrorWithItsOffset) {
  std::string whole = gzip(sample(2000));
  whole[whole.size() - 8] ^= 1;  // the checksum
  write(whole);
  ReaderMemory memory(byte_reader_bytes(4000));
  auto reader = ByteReader::open(path_, memory);
  ASSERT_TRUE(reader);
  const auto all = read_all(*reader, 4000);
  ASSERT_FALSE(all);
  EXPECT_NE(all.error().message.find("has damaged gzip data before byte"),
            std::string::npos)
      << all.error().message;
  EXPECT_NE(all.error().message.find("incorrect data check"),
            std::string::npos);
}

TEST_F(ByteReaderTest, GzipByRequestMustBeGzip) {
  ReaderMemory memory(byte_reader_bytes(10));
  for (const char* text : {"", "ab", "plain text"}) {
    write(text);
    const auto reader =
        ByteReader::open(path_, memory, {Compression::gzip, true});
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().message,
              path_ + ": is not a gzip file: it does not begin with 1f 8b 08");
  }
  const std::string zipped = gzip("text");
  write(zipped);
  auto reader = ByteReader::open(path_, memory, {Compression::none, true});
  ASSERT_TRUE(reader);
  EXPECT_EQ(*read_all(*reader, 5), zipped);
}

TEST_F(ByteReaderTest, SaysHowMuchMemoryItNeeds) {
  write(gzip("text"));
  ReaderMemory memory(byte_reader_bytes(0));
  const auto reader = ByteReader::open(path_, memory);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().message, path_ + ": its reader needs " +
                                        std::to_string(byte_reader_bytes(1)) +
                                        " bytes of memory, not " +
                                        std::to_string(byte_reader_bytes(0)));
}

TEST_F(ByteReaderTest, SeeksForwardAndBack) {
  const std::string text = sample(20000);
  for (const bool zipped : {false, true}) {
    write(zipped ? gzip(text) : text);
    ReaderMemory memory(byte_reader_bytes(500));
    auto reader = ByteReader::open(path_, memory);
    ASSERT_TRUE(reader);
    for (const std::int64_t offset :
         {100, 120, 90, 19999, 20000, 0, 5000, 4999, 5000}) {
      ASSERT_TRUE(reader->seek(offset)) << offset;
      EXPECT_EQ(reader->position(), offset);
      ASSERT_TRUE(reader->fill(20));
      const auto seen = text_of(reader->peek()).substr(0, 20);
      EXPECT_EQ(seen, text.substr(static_cast<std::size_t>(offset), 20));
    }
    for (const std::int64_t offset : {std::int64_t{20001}, std::int64_t{-1}}) {
      const auto status = reader->seek(offset);
      ASSERT_FALSE(status);
      EXPECT_NE(status.error().message.find("has no offset " +
                                            std::to_string(offset)),
                std::string::npos);
    }
    ASSERT_TRUE(reader->seek(19990));
    EXPECT_EQ(*read_all(*reader, 100), text.substr(19990));
  }
}

TEST_F(ByteReaderTest, AnEmptyFileEnds) {
  write("");
  ReaderMemory memory(10);
  auto reader = ByteReader::open(path_, memory);
  ASSERT_TRUE(reader);
  EXPECT_EQ(*read_all(*reader, 1), "");
  write(gzip(""));
  ReaderMemory more(byte_reader_bytes(10));
  auto zipped = ByteReader::open(path_, more);
  ASSERT_TRUE(zipped);
  EXPECT_EQ(*read_all(*zipped, 1), "");
}

TEST_F(ByteReaderTest, AFileThatShrinksIsAnError) {
  write(sample(10000));
  ReaderMemory memory(100);
  auto reader = ByteReader::open(path_, memory);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(reader->fill(100));
  std::filesystem::resize_file(path_, 150);
  const auto all = read_all(*reader, 10);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, ErrorCode::io);
}

TEST(ByteReaderCache, PagesBehindTheReaderAreDropped) {
  const CachedFile file;
  // Enough that the system reads far ahead, and so in its largest groups.
  constexpr std::int64_t kBytes = 48 * kMiB;
  file.write(std::string(kBytes, 'x'));
  if (!file.can_drop()) GTEST_SKIP() << "this file system keeps its pages";
  ReaderMemory memory(100 * kKiB);
  for (const bool drop : {false, true}) {
    auto reader =
        ByteReader::open(file.path(), memory, {Compression::none, drop});
    ASSERT_TRUE(reader);
    ASSERT_TRUE(read_all(*reader, 64 * kKiB));
    if (drop) {
      EXPECT_LT(file.cached_bytes(), kMiB / 2);
    } else {
      EXPECT_GT(file.cached_bytes(), kBytes / 2);
    }
  }
  // Jumps forward leave nothing behind either.
  auto reader =
      ByteReader::open(file.path(), memory, {Compression::none, true});
  ASSERT_TRUE(reader);
  for (std::int64_t offset = 0; offset < kBytes; offset += 300 * kKiB) {
    ASSERT_TRUE(reader->seek(offset));
    ASSERT_TRUE(reader->fill(1));
  }
  EXPECT_LT(file.cached_bytes(), 3 * kMiB);
}

}  // namespace
}  // namespace plimsoll::io
