#include "report/tensorboard.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <vector>

#include "base/crc32c.h"
#include "io/temporary_folder.h"

namespace plimsoll::report {
namespace {

template <class T>
T fixed(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// Splits a file into payloads, checking both checksums of each.
std::vector<std::string> records(std::string_view bytes) {
  std::vector<std::string> out;
  while (!bytes.empty()) {
    if (bytes.size() < 16) ADD_FAILURE() << "a partial record";
    const auto length = fixed<std::uint64_t>(bytes);
    EXPECT_EQ(fixed<std::uint32_t>(bytes.substr(8)),
              mask_crc(crc32c(bytes.substr(0, 8))));
    const auto payload = bytes.substr(12, length);
    EXPECT_EQ(fixed<std::uint32_t>(bytes.substr(12 + length)),
              mask_crc(crc32c(payload)));
    out.emplace_back(payload);
    bytes.remove_prefix(16 + length);
  }
  return out;
}

// A protobuf message as field number -> raw bytes (varints as 8 bytes).
std::map<int, std::string> message(std::string_view bytes) {
  std::map<int, std::string> fields;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (!bytes.empty()) {
    const std::uint64_t key = varint();
    std::string& field = fields[static_cast<int>(key >> 3)];
    std::size_t size = 0;
    switch (key & 7) {
      case 0: {
        const std::uint64_t value = varint();
        field.assign(reinterpret_cast<const char*>(&value), 8);
        continue;
      }
      case 1:
        size = 8;
        break;
      case 2:
        size = varint();
        break;
      default:
        size = 4;
    }
    field = std::string(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return fields;
}

TEST(EventWriter, ScalarsComeBack) {
  const TemporaryFolder folder;
  auto writer = EventWriter::create(folder.path());
  ASSERT_TRUE(writer) << writer.error().message;
  const std::string long_tag(300, 't');
  ASSERT_TRUE(writer->add_scalar("loss", 7, 0.25, 1234.5));
  ASSERT_TRUE(writer->add_scalar(long_tag, std::int64_t{1} << 40, -3));
  EXPECT_EQ(writer->path().rfind(folder.path() + "/events.out.tfevents.", 0),
            0u);

  // Nothing waits in a buffer: the file is whole while the writer lives.
  const auto payloads = records(read_bytes(writer->path()));
  ASSERT_EQ(payloads.size(), 3u);
  EXPECT_EQ(message(payloads[0])[3], "brain.Event:2");

  auto event = message(payloads[1]);
  EXPECT_EQ(fixed<double>(event[1]), 1234.5);
  EXPECT_EQ(fixed<std::int64_t>(event[2]), 7);
  auto value = message(message(event[5])[1]);
  EXPECT_EQ(value[1], "loss");
  EXPECT_EQ(fixed<float>(value[2]), 0.25f);

  event = message(payloads[2]);
  EXPECT_GT(fixed<double>(event[1]), 1.6e9);
  EXPECT_EQ(fixed<std::int64_t>(event[2]), std::int64_t{1} << 40);
  value = message(message(event[5])[1]);
  EXPECT_EQ(value[1], long_tag);
  EXPECT_EQ(fixed<float>(value[2]), -3.0f);
}

TEST(EventWriter, TwoWritersInOneSecondHaveTwoFiles) {
  const TemporaryFolder folder;
  const auto first = EventWriter::create(folder.path());
  const auto second = EventWriter::create(folder.path());
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->path(), second->path());
}

TEST(EventWriter, NamesAFolderThatIsNotThere) {
  const auto writer = EventWriter::create("/nowhere/at/all");
  ASSERT_FALSE(writer);
  EXPECT_NE(writer.error().message.find("/nowhere/at/all"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::report
