// After open() the readers call no allocator.
#include <gtest/gtest.h>

#include <array>

#include "io/csv.h"
#include "io/example.h"
#include "io/example_builder.h"
#include "io/reader_memory.h"
#include "io/temporary_folder.h"
#include "io/text_lines.h"
#include "io/tfrecord.h"
#include "io/tfrecord_writer.h"
#include "promises/allocation_count.h"

namespace plimsoll::io {
namespace {

// Runs `body` and expects no call of malloc in it.
template <class Body>
void expect_no_allocations(Body body) {
  testing::learn_modules();
  testing::start_counting();
  body();
  testing::stop_counting();
  EXPECT_EQ(testing::own_calls() + testing::library_calls(), 0)
      << testing::own_callers();
}

TEST(ReaderAllocations, RecordsAndExamples) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  const std::array<float, 3> x{1, 2, 3};
  for (const Compression compression : {Compression::none, Compression::gzip}) {
    auto writer = TfRecordWriter::create(path, compression);
    ASSERT_TRUE(writer);
    for (int i = 0; i < 20000; ++i) {
      const auto record = ExampleBuilder().floats("x", x).int64("y", i).take();
      ASSERT_TRUE(writer->write(bytes_of(record)));
    }
    ASSERT_TRUE(writer->finish());
    ReaderMemory memory(tfrecord_reader_bytes(5000));
    auto reader = TfRecordReader::open(path, memory);
    auto parser = ExampleParser::create({{"x", FeatureKind::floats, 3, false},
                                         {"y", FeatureKind::int64s, 1, false}});
    ASSERT_TRUE(reader.ok() && parser.ok());
    std::array<float, 3> floats{};
    std::int64_t y = 0;
    std::array<FeatureMemory, 2> to{};
    to[0].floats = floats.data();
    to[1].int64s = &y;
    std::int64_t records = 0;
    expect_no_allocations([&] {
      for (int pass = 0; pass < 2; ++pass) {
        TfRecord record;
        while (*reader->next(record)) {
          if (parser->parse(record.bytes, to) && y == record.number) ++records;
        }
        if (!reader->seek(0, 0)) return;
      }
    });
    EXPECT_EQ(records, 40000);
  }
}

TEST(ReaderAllocations, LinesAndTables) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  std::string text = "x,y,z\n";
  for (int i = 0; i < 5000; ++i) text += "1.25,1e-30,\"a \"\"b\"\"\"\n";
  for (const bool zipped : {false, true}) {
    write_bytes(path, zipped ? gzip(text) : text);
    ReaderMemory memory(byte_reader_bytes(3000));
    auto bytes = ByteReader::open(path, memory);
    ASSERT_TRUE(bytes);
    auto csv = CsvReader::open(*std::move(bytes));
    ASSERT_TRUE(csv);
    std::array<float, 2> numbers{};
    std::string_view cell;
    void* const to[] = {&numbers[0], &numbers[1], &cell};
    std::int64_t rows = 0;
    expect_no_allocations([&] {
      while (*csv->next(to)) rows += cell == "a \"b\"" ? 1 : 0;
    });
    EXPECT_EQ(rows, 5000);

    auto again = ByteReader::open(path, memory);
    ASSERT_TRUE(again);
    LineReader lines(*std::move(again));
    std::int64_t count = 0;
    expect_no_allocations([&] {
      TextLine line;
      while (*lines.next(line)) ++count;
    });
    EXPECT_EQ(count, 5001);
  }
}

}  // namespace
}  // namespace plimsoll::io
