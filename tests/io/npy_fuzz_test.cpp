// Mutated files: whatever they claim, they are read within their size or
// refused by name. The sanitizers watch.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "io/npy.h"
#include "io/temporary_folder.h"

namespace plimsoll::io {
namespace {

TEST(NpyFuzz, MutatedFilesAreReadWithinTheirSizeOrRefused) {
  const TemporaryFolder folder;
  const std::string good_path = folder.file("good.npy");
  const std::vector<float> data(60, 1.5f);
  ASSERT_TRUE(write_npy(good_path, {DType::f32, {5, 12}}, data.data()));
  const std::string good = read_bytes(good_path);
  const std::string pieces[] = {"0",
                                "99999999999999999999",
                                "(",
                                ")",
                                "'",
                                "True",
                                "4611686018427387904",
                                ",",
                                "{",
                                "}",
                                "'<c8'",
                                "-",
                                "8L",
                                "[",
                                "f8"};
  const std::string path = folder.file("mutated.npy");
  std::mt19937 random(7);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  int read = 0;
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    for (std::size_t change = 0; change <= below(3); ++change) {
      // Mostly the header: that is where the claims are.
      const std::size_t at = below(below(4) == 0 ? bytes.size() : 80);
      switch (below(4)) {
        case 0:
          bytes[at] = static_cast<char>(below(256));
          break;
        case 1:
          bytes.insert(at, pieces[below(std::size(pieces))]);
          break;
        case 2:
          bytes.erase(at, 1 + below(12));
          break;
        default:
          bytes.resize(at + 1);
      }
      if (bytes.size() < 81) break;
    }
    write_bytes(path, bytes);
    const auto file = NpyFile::open(path);
    if (!file) {
      ++refused;
      ASSERT_EQ(file.error().message.rfind(path + ": ", 0), 0u)
          << file.error().message;
      continue;
    }
    ++read;
    ASSERT_LE(file->data_offset() + file->data_bytes(),
              static_cast<std::int64_t>(bytes.size()));
    std::vector<std::byte> out(static_cast<std::size_t>(file->data_bytes()));
    ASSERT_TRUE(file->read(0, out));
  }
  // Both ways were taken, so both were tested.
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 1000);
}

TEST(NpyFuzz, EveryTruncationIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.npy");
  const std::vector<double> data(4, 2.0);
  ASSERT_TRUE(write_npy(path, {DType::f64, {2, 2}}, data.data()));
  const std::string good = read_bytes(path);
  for (std::size_t size = 0; size < good.size(); ++size) {
    write_bytes(path, good.substr(0, size));
    EXPECT_FALSE(NpyFile::open(path)) << size << " bytes";
  }
}

}  // namespace
}  // namespace plimsoll::io
