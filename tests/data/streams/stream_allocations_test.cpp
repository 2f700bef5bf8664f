// Streams of files call no allocator once they have begun: not for elements,
// nor where the file begins anew in the next epoch.
#include <gtest/gtest.h>

#include <array>

#include "data/streams/csv_stream.h"
#include "data/streams/lines_stream.h"
#include "data/streams/stream_fixture.h"
#include "data/streams/tar_stream.h"
#include "data/streams/tfrecord_stream.h"
#include "io/reader_memory.h"
#include "io/tar_writer.h"
#include "io/temporary_folder.h"
#include "io/tfrecord_writer.h"
#include "promises/allocation_count.h"

namespace plimsoll::data {
namespace {

namespace counting = plimsoll::testing;

constexpr int kElements = 3000;

// Calls of malloc from the third element to the second epoch's end; `plant`
// adds one to each epoch.
std::int64_t calls(Result<std::unique_ptr<Stream>> made, bool plant = false) {
  Placed stream(std::move(made));
  Element element;
  EXPECT_TRUE(stream->start(0));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(*stream->next(element));
  std::int64_t elements = 3;
  bool good = true;
  std::string planted;
  counting::learn_modules();
  counting::start_counting();
  for (std::int64_t epoch = 1; epoch <= 2; ++epoch) {
    for (;;) {
      const auto got = stream->next(element);
      good = good && got.ok();
      if (!good || !*got) break;
      ++elements;
    }
    if (plant) planted.append(1000, 'x');
    good = good && stream->start(epoch).ok();
  }
  counting::stop_counting();
  EXPECT_TRUE(good);
  EXPECT_EQ(planted.size(), plant ? 2000u : 0u);
  EXPECT_EQ(elements, 2 * kElements);
  return counting::own_calls() + counting::library_calls();
}

class StreamAllocations : public ::testing::TestWithParam<bool> {
 protected:
  FileStreamOptions write(const std::string& bytes) const {
    write_bytes(path_, GetParam() ? io::gzip(bytes) : bytes);
    return {{path_}, false, 1};
  }
  const TemporaryFolder folder_;
  const std::string path_ = folder_.file("a_file_with_a_long_name");
};

TEST_P(StreamAllocations, Lines) {
  std::string text;
  for (int i = 0; i < kElements; ++i) {
    text += std::string(static_cast<std::size_t>(i % 500), 'x') + '\n';
  }
  LinesStreamOptions options;
  options.files = write(text);
  EXPECT_EQ(calls(lines_stream(options)), 0) << counting::own_callers();
  EXPECT_EQ(calls(lines_stream(options), true), 2);
}

TEST_P(StreamAllocations, Csv) {
  std::string text = "a,b,y,text\n";
  for (int i = 0; i < kElements; ++i) {
    text += std::to_string(i) + ",1.5e-3," + std::to_string(i % 7) +
            ",\"some \"\"quoted\"\" text\"\n";
  }
  CsvStreamOptions options;
  options.files = write(text);
  EXPECT_EQ(calls(csv_stream(options)), 0) << counting::own_callers();
  options.label = "y";
  options.features = {"b", "a"};
  EXPECT_EQ(calls(csv_stream(options)), 0) << counting::own_callers();
}

TEST_P(StreamAllocations, TfRecord) {
  auto writer = taken(io::TfRecordWriter::create(
      path_, GetParam() ? io::Compression::gzip : io::Compression::none));
  for (int i = 0; i < kElements; ++i) {
    const std::string record(static_cast<std::size_t>(i % 700), 'r');
    ASSERT_TRUE(writer.write(io::bytes_of(record)));
  }
  ASSERT_TRUE(writer.finish());
  TfRecordStreamOptions options;
  options.files.patterns = {path_};
  EXPECT_EQ(calls(tfrecord_stream(options)), 0) << counting::own_callers();
}

TEST_P(StreamAllocations, Tar) {
  io::TarWriter tar;
  for (int i = 0; i < kElements; ++i) {
    const std::string key = std::to_string(i);
    const std::string data(static_cast<std::size_t>(i % 900), 'd');
    if (i % 10 == 0) {
      tar.add_gnu(std::string(120, 'k') + key + ".bin", data);
      tar.add_gnu(std::string(120, 'k') + key + ".cls", "1");
    } else {
      tar.add(key + ".bin", data);
      tar.add(key + ".cls", "1");
    }
  }
  TarStreamOptions options;
  options.files = write(tar.finished());
  EXPECT_EQ(calls(tar_stream(options)), 0) << counting::own_callers();
}

INSTANTIATE_TEST_SUITE_P(PlainAndGzip, StreamAllocations, ::testing::Bool());

}  // namespace
}  // namespace plimsoll::data
