#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "io/safetensors.h"
#include "io/temporary_folder.h"

namespace plimsoll::io {
namespace {

std::string good_file(const std::string& path) {
  const std::vector<float> data(32, 0.5f);
  const std::vector<NamedTensor> tensors = {
      {"kernel", DType::f32, {4, 8}, data.data()},
      {"bias", DType::f32, {8}, data.data()},
      {"mask", DType::boolean, {5}, data.data()}};
  EXPECT_TRUE(write_safetensors(path, tensors, {{"step", "12"}}));
  return read_bytes(path);
}

TEST(SafetensorsFuzz, MutatedFilesAreReadWithinTheirSizeOrRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.safetensors");
  const std::string good = good_file(path);
  const std::string pieces[] = {
      "0",  "9",  "18446744073709551615", "[", "]", "\"", "{", "}", ",",
      "-1", "1e9"};
  std::mt19937 random(11);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  int read = 0;
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    for (std::size_t change = 0; change <= below(3); ++change) {
      const std::size_t at = below(bytes.size());
      switch (below(4)) {
        case 0:
          bytes[at] = static_cast<char>(below(256));
          break;
        case 1: {  // same length: the JSON stays in its place
          const std::string& piece = pieces[below(std::size(pieces))];
          if (at + piece.size() < bytes.size()) {
            bytes.replace(at, piece.size(), piece);
          }
          break;
        }
        case 2:
          bytes.insert(at, pieces[below(std::size(pieces))]);
          break;
        default:
          bytes.erase(at, 1 + below(20));
      }
      if (bytes.empty()) break;
    }
    write_bytes(path, bytes);
    const auto file = SafetensorsFile::open(path);
    if (!file) {
      ++refused;
      ASSERT_EQ(file.error().message.rfind(path + ": ", 0), 0u)
          << file.error().message;
      continue;
    }
    ++read;
    for (const auto& entry : file->entries()) {
      ASSERT_LE(entry.offset + entry.bytes,
                static_cast<std::int64_t>(bytes.size()));
      std::vector<std::byte> out(static_cast<std::size_t>(entry.bytes));
      ASSERT_TRUE(file->read(entry, out));
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 1000);
}

TEST(SafetensorsFuzz, EveryTruncationIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.safetensors");
  const std::string good = good_file(path);
  for (std::size_t size = 0; size < good.size(); ++size) {
    write_bytes(path, good.substr(0, size));
    EXPECT_FALSE(SafetensorsFile::open(path)) << size << " bytes";
  }
}

}  // namespace
}  // namespace plimsoll::io
