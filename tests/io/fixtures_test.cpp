// Files that TensorFlow, NumPy and Python wrote (make_fixtures.py).
#include <gtest/gtest.h>

#include <array>

#include "io/csv.h"
#include "io/example.h"
#include "io/npy.h"
#include "io/reader_memory.h"
#include "io/tfrecord.h"

namespace plimsoll::io {
namespace {

std::string fixture(const std::string& name) {
  return std::string(PLIMSOLL_FIXTURES) + "/" + name;
}

TEST(Fixtures, ExamplesThatTensorFlowWrote) {
  for (const char* name : {"tensorflow.tfrecord", "tensorflow_gzip.tfrecord"}) {
    ReaderMemory memory(tfrecord_reader_bytes(1000));
    auto reader = TfRecordReader::open(fixture(name), memory);
    ASSERT_TRUE(reader) << reader.error().message;
    auto parser =
        ExampleParser::create({{"x", FeatureKind::floats, 3, false},
                               {"label", FeatureKind::int64s, 1, false},
                               {"sizes", FeatureKind::int64s, 4, true},
                               {"name", FeatureKind::bytes, 1, false}});
    ASSERT_TRUE(parser);
    std::array<float, 3> x{};
    std::int64_t label = 0;
    std::array<std::int64_t, 4> sizes{};
    std::span<const std::byte> text;
    std::array<FeatureMemory, 4> to{};
    to[0].floats = x.data();
    to[1].int64s = &label;
    to[2].int64s = sizes.data();
    to[3].bytes = &text;
    TfRecord record;
    for (int i = 0; i < 5; ++i) {
      const auto more = reader->next(record);
      ASSERT_TRUE(more) << more.error().message;
      ASSERT_TRUE(*more);
      const auto status = parser->parse(record.bytes, to);
      ASSERT_TRUE(status) << status.error().message;
      const auto f = static_cast<float>(i);
      EXPECT_EQ(x, (std::array<float, 3>{f, f + 0.5f, -f}));
      EXPECT_EQ(label, i * 1000 - 1);
      EXPECT_EQ(to[2].count, i);
      for (int k = 0; k < i; ++k) {
        EXPECT_EQ(sizes[static_cast<std::size_t>(k)],
                  k * (std::int64_t{1} << 40));
      }
      EXPECT_EQ(text_of(text), "example " + std::to_string(i));
    }
    EXPECT_FALSE(*reader->next(record));
  }
  EXPECT_EQ(scan_tfrecords(fixture("tensorflow.tfrecord"))->records, 5);
}

TEST(Fixtures, TablesThatNumPyWrote) {
  for (const char* name : {"numpy.csv", "numpy.csv.gz"}) {
    ReaderMemory memory(byte_reader_bytes(1000));
    auto bytes = ByteReader::open(fixture(name), memory);
    ASSERT_TRUE(bytes);
    auto csv = CsvReader::open(*std::move(bytes));
    ASSERT_TRUE(csv) << csv.error().message;
    EXPECT_TRUE(csv->has_header());
    ASSERT_EQ(csv->columns().size(), 3u);
    EXPECT_EQ(csv->columns()[2].name, "c");
    std::array<float, 3> row{};
    void* const to[] = {&row[0], &row[1], &row[2]};
    for (int i = 0; i < 4; ++i) {
      const auto more = csv->next(to);
      ASSERT_TRUE(more) << more.error().message;
      for (int k = 0; k < 3; ++k) {
        EXPECT_EQ(row[static_cast<std::size_t>(k)],
                  static_cast<float>(i * 3 + k) / 7);
      }
    }
    EXPECT_FALSE(*csv->next(to));
  }
}

TEST(Fixtures, ATableThatPythonQuoted) {
  ReaderMemory memory(byte_reader_bytes(1000));
  auto bytes = ByteReader::open(fixture("python.csv"), memory);
  ASSERT_TRUE(bytes);
  auto csv = CsvReader::open(*std::move(bytes));
  ASSERT_TRUE(csv) << csv.error().message;
  std::string_view text;
  std::int64_t number = 0;
  void* const to[] = {&text, &number};
  for (const char* wanted : {"plain", "with, comma", "with \"quotes\"",
                             "two\nlines", "two\r\nlines", "", "\""}) {
    const auto more = csv->next(to);
    ASSERT_TRUE(more) << more.error().message;
    ASSERT_TRUE(*more);
    EXPECT_EQ(text, wanted);
    EXPECT_EQ(number, static_cast<std::int64_t>(text.size()));
  }
  EXPECT_FALSE(*csv->next(to));
}

TEST(Fixtures, AnArrayThatNumPyWrote) {
  const auto file = NpyFile::open(fixture("numpy.npy"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->header(), (NpyHeader{DType::f32, {2, 3}}));
  std::array<float, 6> values{};
  ASSERT_TRUE(file->read(0, std::as_writable_bytes(std::span(values))));
  EXPECT_EQ(values, (std::array<float, 6>{0, 1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace plimsoll::io
