#include "io/tfrecord.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/crc32c.h"
#include "io/reader_memory.h"
#include "io/temporary_folder.h"
#include "io/tfrecord_writer.h"

namespace plimsoll::io {
namespace {

class TfRecordTest : public ::testing::Test {
 protected:
  void write(const std::vector<std::string>& records,
             Compression compression = Compression::none) {
    auto writer = TfRecordWriter::create(path_, compression);
    ASSERT_TRUE(writer);
    for (const auto& record : records) {
      ASSERT_TRUE(writer->write(bytes_of(record)));
    }
    ASSERT_TRUE(writer->finish());
  }
  TfRecordReader open(std::int64_t most_bytes, TfRecordOptions options = {}) {
    memory_.emplace_back(tfrecord_reader_bytes(most_bytes));
    auto reader = TfRecordReader::open(path_, memory_.back(), options);
    EXPECT_TRUE(reader) << reader.error().message;
    return *std::move(reader);
  }
  // One that holds exactly so much: plain files have the whole memory.
  TfRecordReader open_plain(std::int64_t most_bytes) {
    memory_.emplace_back(tfrecord_reader_bytes(most_bytes, Compression::none));
    auto reader = TfRecordReader::open(path_, memory_.back());
    EXPECT_TRUE(reader) << reader.error().message;
    return *std::move(reader);
  }
  static std::string error_of(TfRecordReader& reader) {
    TfRecord record;
    const auto more = reader.next(record);
    return more ? "no error" : more.error().message;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.file("a.tfrecord");
  std::vector<ReaderMemory> memory_;
};

TEST_F(TfRecordTest, GivesBackWhatWasWritten) {
  std::vector<std::string> records;
  for (std::size_t i = 0; i < 300; ++i) {
    records.emplace_back(i * 7 % 1000, static_cast<char>('a' + i % 26));
  }
  records.emplace_back(200000, 'z');
  for (const Compression compression : {Compression::none, Compression::gzip}) {
    write(records, compression);
    TfRecordReader reader = open(200000);
    std::int64_t offset = 0;
    TfRecord record;
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto more = reader.next(record);
      ASSERT_TRUE(more) << more.error().message;
      ASSERT_TRUE(*more);
      EXPECT_EQ(text_of(record.bytes), records[i]);
      EXPECT_EQ(record.number, static_cast<std::int64_t>(i));
      EXPECT_EQ(record.offset, offset);
      offset +=
          kTfRecordFrameBytes + static_cast<std::int64_t>(records[i].size());
    }
    EXPECT_FALSE(*reader.next(record));
    EXPECT_FALSE(*reader.next(record));
    ASSERT_TRUE(reader.seek(0, 0));
    ASSERT_TRUE(*reader.next(record));
    ASSERT_TRUE(*reader.next(record));
    EXPECT_EQ(text_of(record.bytes), records[1]);
    EXPECT_EQ(record.number, 1);
  }
}

TEST_F(TfRecordTest, AnUnfinishedFileDoesNotAppear) {
  {
    auto writer = TfRecordWriter::create(path_, Compression::gzip);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->write(bytes_of("text")));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(TfRecordTest, ARecordLargerThanTheBufferIsNamedAndPassedOver) {
  write({"one", std::string(101, 'x'), "three"});
  TfRecordReader reader = open_plain(100);
  TfRecord record;
  ASSERT_TRUE(*reader.next(record));
  EXPECT_EQ(error_of(reader),
            path_ +
                ": record 1 at offset 19: has 101 bytes; the buffer holds "
                "records of up to 100");
  EXPECT_TRUE(reader.can_continue());
  ASSERT_TRUE(*reader.next(record));
  EXPECT_EQ(text_of(record.bytes), "three");
  EXPECT_EQ(record.number, 2);
  EXPECT_FALSE(*reader.next(record));
  // It fits exactly.
  TfRecordReader larger = open_plain(101);
  ASSERT_TRUE(*larger.next(record));
  ASSERT_TRUE(*larger.next(record));
  EXPECT_EQ(record.bytes.size(), 101u);
}

TEST_F(TfRecordTest, AfterDamagedDataTheNextRecordIsRead) {
  write({"one", "two", "three"});
  std::string bytes = read_bytes(path_);
  bytes[19 + 12] ^= 1;
  write_bytes(path_, bytes);
  TfRecordReader reader = open(100);
  TfRecord record;
  ASSERT_TRUE(*reader.next(record));
  const std::string message = error_of(reader);
  EXPECT_EQ(
      message.find(path_ + ": record 1 at offset 19: the checksum of its 3 "
                           "bytes is "),
      0u)
      << message;
  EXPECT_TRUE(reader.can_continue());
  ASSERT_TRUE(*reader.next(record));
  EXPECT_EQ(text_of(record.bytes), "three");
  EXPECT_EQ(record.number, 2);

  TfRecordReader trusting = open(100, {.verify_data = false});
  ASSERT_TRUE(*trusting.next(record));
  ASSERT_TRUE(*trusting.next(record));
  EXPECT_EQ(text_of(record.bytes), "uwo");
}

TEST_F(TfRecordTest, ADamagedLengthEndsTheReading) {
  write({"one", "two", "three"});
  std::string bytes = read_bytes(path_);
  bytes[19] ^= 1;
  write_bytes(path_, bytes);
  TfRecordReader reader = open(100, {.verify_data = false});
  TfRecord record;
  ASSERT_TRUE(*reader.next(record));
  const std::string message = error_of(reader);
  EXPECT_EQ(message,
            path_ +
                ": record 1 at offset 19: the checksum of its length is "
                "wrong, so that what follows cannot be found");
  EXPECT_FALSE(reader.can_continue());
  EXPECT_EQ(error_of(reader), message) << "the same again";
  const auto scan = scan_tfrecords(path_);
  ASSERT_FALSE(scan);
  EXPECT_EQ(scan.error().message, message);
}

TEST_F(TfRecordTest, EveryTruncationIsAnErrorOrTheEndOfARecord) {
  write({"one", std::string(40, 'x'), "three"});
  const std::string plain = read_bytes(path_);
  for (const bool zipped : {false, true}) {
    for (std::size_t size = 1; size < plain.size(); ++size) {
      const std::string cut = plain.substr(0, size);
      write_bytes(path_, zipped ? gzip(cut) : cut);
      TfRecordReader reader = open(100);
      TfRecord record;
      std::size_t good = 0;
      for (;;) {
        const auto more = reader.next(record);
        if (!more) {
          EXPECT_NE(more.error().message.find("is truncated"),
                    std::string::npos);
          EXPECT_FALSE(reader.can_continue());
          break;
        }
        if (!*more) {
          EXPECT_TRUE(size == 19 || size == 19 + 56) << size;
          break;
        }
        ++good;
      }
      EXPECT_EQ(good, size < 19 ? 0u : size < 19 + 56 ? 1u : 2u);
      const bool whole = size == 19 || size == 19 + 56;
      if (!zipped) {
        EXPECT_EQ(scan_tfrecords(path_).ok(), whole) << size;
      }
      memory_.clear();
    }
  }
}

TEST_F(TfRecordTest, AHugeLengthWithAGoodChecksumIsRefused) {
  for (const std::uint64_t length :
       {std::uint64_t{1} << 40, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    std::string header(reinterpret_cast<const char*>(&length), 8);
    const std::uint32_t crc = mask_crc(crc32c(bytes_of(header)));
    header.append(reinterpret_cast<const char*>(&crc), 4);
    write_bytes(path_, header + "data and more data");
    TfRecordReader reader = open(1000);
    EXPECT_NE(error_of(reader).find(std::to_string(length)), std::string::npos);
    EXPECT_FALSE(scan_tfrecords(path_));
    write_bytes(path_, gzip(header + "data and more data"));
    TfRecordReader zipped = open(1000);
    EXPECT_NE(error_of(zipped).find(std::to_string(length)), std::string::npos);
    EXPECT_NE(error_of(zipped), "no error");
  }
}

// A record of 559,903 bytes begins with 1f 8b 08, as gzip does.
TEST_F(TfRecordTest, ARecordThatLooksLikeGzipIsRead) {
  write({std::string(0x088b1f, 'x'), "two"});
  ASSERT_EQ(read_bytes(path_).substr(0, 3), "\x1f\x8b\x08");
  TfRecordReader reader = open(600000);
  TfRecord record;
  ASSERT_TRUE(*reader.next(record));
  ASSERT_TRUE(*reader.next(record));
  EXPECT_EQ(text_of(record.bytes), "two");
}

TEST_F(TfRecordTest, ScanCountsAndFindsTheLargest) {
  std::vector<std::string> records(1000, "small");
  records[400] = std::string(70000, 'x');
  records[999] = "";
  write(records);
  const auto scan = scan_tfrecords(path_);
  ASSERT_TRUE(scan) << scan.error().message;
  EXPECT_EQ(scan->records, 1000);
  EXPECT_EQ(scan->largest_record_bytes, 70000);
  write({});
  EXPECT_EQ(scan_tfrecords(path_)->records, 0);
  write(records, Compression::gzip);
  const auto zipped = scan_tfrecords(path_);
  ASSERT_FALSE(zipped);
  EXPECT_NE(zipped.error().message.find("is gzip"), std::string::npos);
}

TEST_F(TfRecordTest, WithoutRoomForAFrameItDoesNotOpen) {
  write({"one"});
  ReaderMemory memory(15);
  const auto reader = TfRecordReader::open(path_, memory);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().message,
            path_ + ": records need 1 bytes of memory more");
}

}  // namespace
}  // namespace plimsoll::io
