#include "io/npz.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "io/temporary_folder.h"

namespace plimsoll::io {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string fixture(const std::string& name) {
  return std::string(PLIMSOLL_FIXTURES) + "/" + name;
}

template <class T>
Result<std::vector<T>> all_of(const NpzFile& file, int array,
                              std::size_t slice_bytes) {
  const NpzArray& facts = file.arrays()[static_cast<std::size_t>(array)];
  std::vector<T> out(static_cast<std::size_t>(facts.data_bytes) / sizeof(T));
  std::vector<std::byte> memory(ZipStream::kMemoryBytes);
  PLIMSOLL_ASSIGN(ZipStream stream, file.stream(array, memory));
  auto rest = std::as_writable_bytes(std::span(out));
  while (!rest.empty()) {
    const auto slice = rest.first(std::min(slice_bytes, rest.size()));
    PLIMSOLL_RETURN_IF_ERROR(stream.read(slice));
    rest = rest.subspan(slice.size());
  }
  return out;
}

// Both files: a = arange(1600) as i32 [40, 40], b = [[0.5, 1.5]] f64, c = u8 3.
void expect_fixture(const std::string& name, bool deflated) {
  const auto file = NpzFile::open(fixture(name));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->arrays().size(), 3u);
  const auto a = file->find("a");
  ASSERT_TRUE(a);
  const NpzArray& facts = file->arrays()[static_cast<std::size_t>(*a)];
  EXPECT_EQ(facts.header, (NpyHeader{DType::i32, {40, 40}}));
  EXPECT_EQ(facts.deflated, deflated);
  for (const std::size_t slice : {std::size_t{7}, std::size_t{100000}}) {
    const auto values = all_of<std::int32_t>(*file, *a, slice);
    ASSERT_TRUE(values) << values.error().message;
    for (std::size_t i = 0; i < 1600; ++i) {
      ASSERT_EQ((*values)[i], static_cast<std::int32_t>(i));
    }
  }
  std::array<std::int32_t, 2> some{};
  const Status read =
      file->read(*a, 400, std::as_writable_bytes(std::span(some)));
  EXPECT_EQ(read.ok(), !deflated);
  if (deflated) {
    EXPECT_TRUE(has(read.error().message, "only be read from"));
  } else {
    EXPECT_EQ(some, (std::array<std::int32_t, 2>{100, 101}));
  }
  const auto b = all_of<double>(*file, *file->find("b"), 3);
  ASSERT_TRUE(b);
  EXPECT_EQ(*b, (std::vector<double>{0.5, 1.5}));
  const auto c = file->find("c");
  EXPECT_EQ(file->arrays()[static_cast<std::size_t>(*c)].header.shape.rank(),
            0);
  EXPECT_EQ(*all_of<std::uint8_t>(*file, *c, 1), std::vector<std::uint8_t>{3});
  EXPECT_TRUE(has(file->find("d").error().message,
                  "has no array \"d\"; it has: a, b, c"));
}

TEST(Npz, ReadsWhatNumPyStores) { expect_fixture("stored.npz", false); }
TEST(Npz, ReadsWhatNumPyCompresses) { expect_fixture("deflated.npz", true); }

const std::array<float, 6> kFloats = {1, 2, 3, 4, 5, 6};
const std::array<std::int64_t, 2> kLongs = {-1, 7};

std::string written_file(const std::string& path) {
  const std::vector<NpzPart> parts = {
      {"x", {DType::f32, {2, 3}}, kFloats.data()},
      {"ys", {DType::i64, {2}}, kLongs.data()}};
  const Status written = write_npz(path, parts);
  EXPECT_TRUE(written);
  return read_bytes(path);
}

TEST(Npz, ReadsWhatItWrites) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.npz");
  written_file(path);
  const auto file = NpzFile::open(path);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->arrays().size(), 2u);
  EXPECT_EQ(file->arrays()[0].header, (NpyHeader{DType::f32, {2, 3}}));
  std::array<float, 2> some{};
  ASSERT_TRUE(file->read(0, 12, std::as_writable_bytes(std::span(some))));
  EXPECT_EQ(some, (std::array<float, 2>{4, 5}));
  EXPECT_EQ(*all_of<std::int64_t>(*file, 1, 5),
            (std::vector<std::int64_t>{-1, 7}));
}

TEST(Npz, TheWriterRefusesNamesThatClash) {
  const TemporaryFolder folder;
  const std::vector<NpzPart> twice = {{"x", {DType::f32, {6}}, kFloats.data()},
                                      {"x", {DType::f32, {6}}, kFloats.data()}};
  EXPECT_TRUE(has(write_npz(folder.file("a.npz"), twice).error().message,
                  "\"x\" is there twice"));
  const std::vector<NpzPart> none = {{"", {DType::f32, {6}}, kFloats.data()}};
  EXPECT_FALSE(write_npz(folder.file("a.npz"), none));
}

// The error of opening, or of reading everything there is.
std::string refusal(const std::string& bytes) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.npz");
  write_bytes(path, bytes);
  const auto file = NpzFile::open(path);
  if (!file) {
    EXPECT_EQ(file.error().message.rfind(path + ": ", 0), 0u)
        << file.error().message;
    return file.error().message;
  }
  for (std::size_t i = 0; i < file->arrays().size(); ++i) {
    if (file->arrays()[i].data_bytes > 1 << 20) return "(large)";
    const auto read = all_of<std::byte>(*file, static_cast<int>(i), 1000);
    if (!read) return read.error().message;
  }
  return "(read)";
}

std::string with(std::string bytes, std::size_t at, const std::string& part) {
  return bytes.replace(at, part.size(), part);
}

TEST(Npz, RefusesDamageByName) {
  const TemporaryFolder folder;
  const std::string good = written_file(folder.file("a.npz"));
  const auto directory = good.find("PK\1\2");
  const auto end = good.find("PK\5\6");
  EXPECT_EQ(refusal(good), "(read)");
  EXPECT_EQ(refusal(with(good, end + 20, "\4") + std::string(1, '\0') + "abc"),
            "(read)");  // a comment
  EXPECT_TRUE(has(refusal("PK"), "has 2 bytes: too short"));
  EXPECT_TRUE(has(refusal(std::string(100, 'x')), "it has no end record"));
  EXPECT_TRUE(has(refusal(with(good, directory + 8, "\1")), "is encrypted"));
  EXPECT_TRUE(has(refusal(with(good, directory + 10, "\x0c")),
                  "compressed by method 12; 0 (stored) and 8"));
  EXPECT_TRUE(has(refusal(with(good, directory + 24, "\xff\xff\xff\x7f")),
                  "claims 2147483647 bytes out of"));
  EXPECT_TRUE(has(refusal(with(good, directory + 42, "\xff\xff\xff\x7f")),
                  "at offset 2147483647; the file has"));
  EXPECT_TRUE(
      has(refusal(with(good, directory + 42, "\3")), "no local header"));
  EXPECT_TRUE(
      has(refusal(with(good, directory, "XX")), "has no zip entry at offset"));
  EXPECT_TRUE(has(refusal(with(good, end + 12, "\xff\xff\xff\x7f")),
                  "claims a zip directory of 2147483647 bytes"));
  EXPECT_TRUE(has(refusal(with(good, end + 10, "\xff\xff")),
                  "claims 65535 zip entries"));
  EXPECT_TRUE(has(refusal(with(good, end + 4, "\1")), "one of several files"));
  const auto magic = good.find("NUMPY");
  EXPECT_TRUE(has(refusal(with(good, magic, "XUMPY")), "is not an npy file"));
  EXPECT_TRUE(has(refusal(with(good, magic + 5, "\7")), "is npy version 7"));
  EXPECT_TRUE(has(refusal(with(good, magic + 7, "\xff\xff")),
                  "claims a header of 65535 bytes"));
  EXPECT_TRUE(has(refusal(with(good, good.find("(2, 3)"), "(9, 9)")),
                  "[9, 9] of f32 need 324 bytes after the header, the entry "
                  "has 24"));
  // A bit of the data: the checksum tells.
  EXPECT_TRUE(has(refusal(with(good, magic + 127, "!")),
                  "the checksum of a zip entry is wrong"));
}

TEST(Npz, RefusesDamagedCompressionByName) {
  const std::string good = read_bytes(fixture("deflated.npz"));
  EXPECT_EQ(refusal(good), "(read)");
  int corrupt = 0;
  for (std::size_t at = 60; at < 400; ++at) {
    const std::string error = refusal(
        with(good, at, std::string(1, static_cast<char>(good[at] ^ 0x10))));
    EXPECT_NE(error, "(read)") << at;
    if (has(error, "corrupt") || has(error, "checksum")) ++corrupt;
  }
  EXPECT_GT(corrupt, 200);
  // More than deflate could hold is not believed.
  const auto directory = good.find("PK\1\2");
  EXPECT_TRUE(has(refusal(with(good, directory + 24, "\xff\xff\xff\x7f")),
                  "claims 2147483647 bytes out of"));
}

// The same archive with everything said in zip64's fields.
TEST(Npz, ReadsZip64) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.npz");
  const std::vector<NpzPart> one = {
      {"x", {DType::f32, {2, 3}}, kFloats.data()}};
  ASSERT_TRUE(write_npz(path, one));
  const std::string good = read_bytes(path);
  const auto directory = good.find("PK\1\2");
  const auto end = good.find("PK\5\6");
  const auto number = [](std::uint64_t value) {
    return std::string(reinterpret_cast<const char*>(&value), 8);
  };
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, good.data() + directory + 24, 4);
  std::string entry = good.substr(directory, end - directory);
  entry = with(entry, 20, std::string(8, '\xff'));
  entry = with(entry, 30, std::string("\x1c\0", 2));
  entry = with(entry, 42, std::string(4, '\xff'));
  entry +=
      std::string("\1\0\x18\0", 4) + number(bytes) + number(bytes) + number(0);
  std::string long_end = std::string("PK\6\6") + number(44) +
                         std::string(12, '\0') + number(1) + number(1) +
                         number(entry.size()) + number(directory);
  long_end += std::string("PK\6\7") + std::string(4, '\0') +
              number(directory + entry.size()) + std::string("\1\0\0\0", 4);
  std::string last = good.substr(end);
  last = with(last, 8, std::string(12, '\xff'));
  const std::string whole = good.substr(0, directory) + entry + long_end + last;
  EXPECT_EQ(refusal(whole), "(read)");
  EXPECT_TRUE(
      has(refusal(with(whole, whole.find("PK\6\7") + 8, "\xff\xff\xff")),
          "claims a zip64 end record at offset"));
  EXPECT_TRUE(has(refusal(with(whole, directory + 48 + 5, "\4")),
                  "zip64 field cut short"));
}

TEST(Npz, MutatedArchivesAreReadWithinTheirSizeOrRefused) {
  const TemporaryFolder folder;
  const std::string files[] = {written_file(folder.file("a.npz")),
                               read_bytes(fixture("deflated.npz"))};
  std::mt19937 random(5);
  int read = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = files[random() % 2];
    bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    if (refusal(bytes) == "(read)") ++read;
  }
  EXPECT_GT(read, 50);
  EXPECT_LT(read, 2900);
}

TEST(Npz, EveryTruncationIsRefused) {
  const std::string good = read_bytes(fixture("deflated.npz"));
  for (std::size_t size = 0; size < good.size(); size += 7) {
    EXPECT_NE(refusal(good.substr(0, size)), "(read)") << size;
  }
}

}  // namespace
}  // namespace plimsoll::io
