// tfrecord, lines, csv and tar files, and the map that parses examples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "data/streams/csv_stream.h"
#include "data/streams/error_skipping.h"
#include "data/streams/file_list.h"
#include "data/streams/interleave_stream.h"
#include "data/streams/lines_stream.h"
#include "data/streams/map_stream.h"
#include "data/streams/parse_example.h"
#include "data/streams/stream_fixture.h"
#include "data/streams/tar_stream.h"
#include "data/streams/tfrecord_stream.h"
#include "io/example_builder.h"
#include "io/reader_memory.h"
#include "io/tar_writer.h"
#include "io/temporary_folder.h"
#include "io/tfrecord_writer.h"

namespace plimsoll::data {
namespace {

using Texts = std::vector<std::string>;

// "3 a.txt+12: line" for an element: number, whereabouts and all its bytes.
std::string text_of(Stream& stream, const Element& element) {
  const std::string where = stream.whereabouts(element);
  std::string text = std::to_string(element.index);
  text += ' ';
  text += where.substr(where.rfind('/') + 1);  // of none: all
  text += ':';
  for (std::size_t i = 0; i < stream.spec().size(); ++i) {
    const Value& value = element.values[i];
    EXPECT_LE(value.bytes, stream.spec()[i].most_bytes);
    text += ' ';
    text.append(reinterpret_cast<const char*>(value.data),
                static_cast<std::size_t>(value.bytes));
  }
  return text;
}

// Errors are told as "!".
Texts texts(Stream& stream, std::int64_t most = 1000) {
  Texts all;
  Element element;
  while (std::ssize(all) < most) {
    const auto got = stream.next(element);
    if (got && !*got) break;
    all.push_back(got ? text_of(stream, element) : "!");
  }
  return all;
}

using Make = std::function<Result<std::unique_ptr<Stream>>()>;

// The same from every position, errors included.
void expect_positions_hold(const Make& make, std::int64_t epoch) {
  Placed whole(make());
  ASSERT_TRUE(whole->start(epoch));
  const Texts expected = texts(*whole);
  for (std::int64_t stop = 0; stop <= std::ssize(expected); ++stop) {
    Placed first(make());
    ASSERT_TRUE(first->start(epoch));
    texts(*first, stop);
    Placed second(make());
    ASSERT_TRUE(second.restore(epoch, first.saved()));
    ASSERT_EQ(texts(*second), Texts(expected.begin() + stop, expected.end()))
        << "from " << stop;
    ASSERT_TRUE(first.restore(epoch, second.saved()));
    EXPECT_TRUE(texts(*first).empty());
  }
}

void write_records(const std::string& path, const Texts& records,
                   io::Compression compression = io::Compression::none) {
  auto writer = taken(io::TfRecordWriter::create(path, compression));
  for (const std::string& record : records) {
    ASSERT_TRUE(writer.write(std::as_bytes(std::span(record))));
  }
  ASSERT_TRUE(writer.finish());
}

TEST(FileList, SortedByNameAndNeverEmpty) {
  TemporaryFolder folder;
  for (const char* name : {"b-2", "b-10", "B-1", "a-1"}) {
    write_bytes(folder.file(name), "x");
  }
  EXPECT_EQ(
      *list_files({folder.file("b-*"), folder.file("a-1")}),
      (Texts{folder.file("b-10"), folder.file("b-2"), folder.file("a-1")}));
  const auto none = list_files({folder.file("a-*"), folder.file("c-*")});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "no file matches " + folder.file("c-*"));
  EXPECT_FALSE(list_files({}));
}

TEST(TfRecordStream, RecordsOfSeveralFiles) {
  TemporaryFolder folder;
  write_records(folder.file("1.rec"), {"one", "", "three"});
  write_records(folder.file("2.rec"), {});
  write_records(folder.file("3.rec"), {"four"}, io::Compression::gzip);
  TfRecordStreamOptions options;
  options.files.patterns = {folder.file("*.rec")};
  const Make make = [&] { return tfrecord_stream(options); };
  Placed stream(make());
  ASSERT_TRUE(stream->start(0));
  EXPECT_EQ(texts(*stream),
            (Texts{"0 1.rec, offset 0: one", "1 1.rec, offset 19: ",
                   "2 1.rec, offset 35: three", "3 3.rec, offset 0: four"}));
  EXPECT_EQ(stream->count(), kUnknownCount) << "gzip is not scanned";
  expect_positions_hold(make, 0);
  options.files.patterns = {folder.file("[12].rec")};
  Placed plain(make());
  EXPECT_EQ(plain->count(), 3);
  EXPECT_EQ(plain->spec()[0].most_bytes, 5);
  EXPECT_EQ(plain.saved().size(), 5u);
  options.files.patterns = {folder.file("1.rec")};
  EXPECT_EQ(Placed(make()).saved().size(), 4u);
}

TEST(TfRecordStream, FilesInAnotherOrderEachEpoch) {
  TemporaryFolder folder;
  for (int i = 0; i < 8; ++i) {
    write_records(folder.file(std::to_string(i) + ".rec"),
                  {std::to_string(i), "x"});
  }
  TfRecordStreamOptions options;
  options.files = {{folder.file("*.rec")}, true, 3};
  const Make make = [&] { return tfrecord_stream(options); };
  Placed stream(make());
  ASSERT_TRUE(stream->start(0));
  const Texts zero = texts(*stream);
  ASSERT_TRUE(stream->start(1));
  const Texts one = texts(*stream);
  EXPECT_EQ(zero.size(), 16u);
  EXPECT_NE(zero, one);
  ASSERT_TRUE(stream->start(0));
  EXPECT_EQ(texts(*stream), zero);
  expect_positions_hold(make, 1);
}

TEST(TfRecordStream, BadRecordsAndLargeOnesAreErrorsInTheirPlace) {
  TemporaryFolder folder;
  const std::string path = folder.file("1.rec");
  write_records(path, {"aaaa", "bbbb", "cccc", "dddd", "eeeeeeeee", "ffff"});
  std::string bytes = read_bytes(path);
  bytes[12] ^= 1;           // data of the first
  bytes[20 + 12] ^= 1;      // and of the second
  bytes[3 * 20 + 12] ^= 1;  // and of the fourth
  write_bytes(path, bytes);
  TfRecordStreamOptions options;
  options.files.patterns = {path};
  options.most_record_bytes = 4;
  const Make make = [&] { return tfrecord_stream(options); };
  Placed stream(make());
  ASSERT_TRUE(stream->start(0));
  EXPECT_EQ(texts(*stream), (Texts{"!", "!", "2 1.rec, offset 40: cccc", "!",
                                   "!", "5 1.rec, offset 105: ffff"}));
  expect_positions_hold(make, 0);
  ASSERT_TRUE(stream->start(0));
  texts(*stream, 4);
  Element element;
  const auto large = stream->next(element);
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().message.find("has 9 bytes: set most_record_bytes"),
            std::string::npos)
      << large.error().message;
}

TEST(TfRecordStream, ALostLengthEndsSkippingToo) {
  TemporaryFolder folder;
  const std::string path = folder.file("1.rec");
  write_records(path, {"aaaa", "bbbb", "cccc"});
  std::string bytes = read_bytes(path);
  bytes[20] ^= 1;
  write_bytes(path, bytes);
  TfRecordStreamOptions options;
  options.files.patterns = {path};
  ErrorPolicy policy;
  policy.skip = true;
  Placed stream(skip_errors_stream(taken(tfrecord_stream(options)), policy));
  ASSERT_TRUE(stream->start(0));
  Element element;
  ASSERT_TRUE(stream->next(element));
  const auto lost = stream->next(element);
  ASSERT_FALSE(lost);
  EXPECT_NE(lost.error().message.find(path), std::string::npos);
}

TEST(TfRecordStream, PositionsHoldThroughMapsBehindBadRecords) {
  TemporaryFolder folder;
  const std::string path = folder.file("1.rec");
  Texts records;
  for (int i = 0; i < 30; ++i) records.push_back(std::to_string(100 + i));
  write_records(path, records);
  std::string bytes = read_bytes(path);
  for (const std::size_t bad : {0u, 3u, 4u, 5u, 17u, 29u}) {
    bytes[19 * bad + 12] ^= 1;
  }
  write_bytes(path, bytes);
  auto workers = taken(Workers::create(2));
  TfRecordStreamOptions options;
  options.files.patterns = {path};
  MapStreamOptions mapping;
  mapping.chunk_bytes = 1000;  // a few elements
  expect_positions_hold(
      [&]() -> Result<std::unique_ptr<Stream>> {
        return map_stream(taken(tfrecord_stream(options)), {}, *workers,
                          mapping);
      },
      0);
}

TEST(TfRecordStream, Interleaved) {
  TemporaryFolder folder;
  for (int i = 0; i < 5; ++i) {
    write_records(folder.file(std::to_string(i)),
                  Texts(static_cast<std::size_t>(i), std::to_string(i)));
  }
  expect_positions_hold(
      [&]() -> Result<std::unique_ptr<Stream>> {
        std::vector<std::unique_ptr<Stream>> inputs;
        for (int i = 0; i < 5; ++i) {
          TfRecordStreamOptions options;
          options.files.patterns = {folder.file(std::to_string(i))};
          inputs.push_back(taken(tfrecord_stream(options)));
        }
        return interleave_stream(std::move(inputs), {3, 1, true, 7});
      },
      2);
}

TEST(LinesStream, OfSeveralFiles) {
  TemporaryFolder folder;
  write_bytes(folder.file("a.txt"), "one\ntwo\r\n\nfour");
  write_bytes(folder.file("b.txt"), "");
  write_bytes(folder.file("c.txt"), "\nlast\n");
  LinesStreamOptions options;
  options.files.patterns = {folder.file("*.txt")};
  const Make make = [&] { return lines_stream(options); };
  Placed stream(make());
  ASSERT_TRUE(stream->start(0));
  EXPECT_EQ(texts(*stream),
            (Texts{"0 a.txt, offset 0: one", "1 a.txt, offset 4: two",
                   "2 a.txt, offset 9: ", "3 a.txt, offset 10: four",
                   "4 c.txt, offset 0: ", "5 c.txt, offset 1: last"}));
  expect_positions_hold(make, 0);
}

TEST(LinesStream, LongLinesAreErrors) {
  TemporaryFolder folder;
  write_bytes(folder.file("a.txt"), "one\n" + std::string(100, 'x') +
                                        "\nthree\n" +
                                        std::string(1 << 20, 'y') + "\nfive\n");
  LinesStreamOptions options;
  options.files.patterns = {folder.file("a.txt")};
  options.most_line_bytes = 50;
  Placed stream(lines_stream(options));
  ASSERT_TRUE(stream->start(0));
  EXPECT_EQ(texts(*stream, 3), (Texts{"0 a.txt, offset 0: one", "!",
                                      "2 a.txt, offset 105: three"}));
  // One that fills the buffer cannot be passed.
  ErrorPolicy policy;
  policy.skip = true;
  Placed skipping(skip_errors_stream(taken(lines_stream(options)), policy));
  ASSERT_TRUE(skipping->start(0));
  Element element;
  ASSERT_TRUE(skipping->next(element));
  ASSERT_TRUE(skipping->next(element));
  const auto stuck = skipping->next(element);
  ASSERT_FALSE(stuck);
  EXPECT_NE(stuck.error().message.find("most_line_bytes"), std::string::npos);
}

float float_at(const Value& value, std::size_t i) {
  float number = 0;
  std::memcpy(&number, value.data + 4 * i, 4);
  return number;
}

TEST(CsvStream, FeaturesAndLabels) {
  TemporaryFolder folder;
  write_bytes(folder.file("1.csv"), "a,name,y,b\n1,x,7,2.5\n3,\"p,q\",8,4\n");
  write_bytes(folder.file("2.csv"), "a,name,y,b\n5,z,9,6\n");
  CsvStreamOptions options;
  options.files.patterns = {folder.file("*.csv")};
  options.label = "y";
  options.features = {"b", "a"};
  const Make make = [&] { return csv_stream(options); };
  Placed stream(make());
  EXPECT_EQ(to_string(stream->spec()), "features f32 [2], labels i32 []");
  ASSERT_TRUE(stream->start(0));
  Element element;
  std::vector<float> seen;
  while (*stream->next(element)) {
    std::int32_t label = 0;
    std::memcpy(&label, element.values[1].data, 4);
    for (const float value :
         {float_at(element.values[0], 0), float_at(element.values[0], 1),
          static_cast<float>(label), static_cast<float>(element.index)}) {
      seen.push_back(value);
    }
  }
  EXPECT_EQ(seen, (std::vector<float>{2.5f, 1, 7, 0, 4, 3, 8, 1, 6, 5, 9, 2}));
  expect_positions_hold(make, 0);

  options.features = {};
  const auto text = csv_stream(options);
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("column 'name' holds text"),
            std::string::npos);
  options.label = "z";
  const auto unknown = csv_stream(options);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("a, name, y, b"), std::string::npos);
}

TEST(CsvStream, AFieldForEachColumnAndBadRows) {
  TemporaryFolder folder;
  write_bytes(folder.file("1.csv"),
              "a,name\n1,x\noops,y\n3,\"two\nlines\"\n4\n5,z\n");
  CsvStreamOptions options;
  options.files.patterns = {folder.file("1.csv")};
  options.csv.header = io::CsvHeader::yes;
  options.csv.columns = {{"a", io::CsvType::i64, {}},
                         {"name", io::CsvType::text, {}}};
  const Make make = [&] { return csv_stream(options); };
  Placed stream(make());
  EXPECT_EQ(to_string(stream->spec()), "a i64 [], name u8 [?]");
  ASSERT_TRUE(stream->start(0));
  const Texts rows = texts(*stream);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[1], "!");
  EXPECT_EQ(rows[3], "!");
  EXPECT_TRUE(rows[2].ends_with("two\nlines"));
  EXPECT_TRUE(rows[4].starts_with("4 1.csv, offset "));
  expect_positions_hold(make, 0);
}

TEST(TarStream, SamplesByExtension) {
  TemporaryFolder folder;
  io::TarWriter first;
  first.add("s/1.txt", "one");
  first.add("s/1.cls", "0");
  first.add("s/2.cls", "1");
  first.add("s/2.txt", "second");
  first.add("s/3.txt", "no class");
  write_bytes(folder.file("1.tar"), first.finished());
  io::TarWriter second;
  second.add("4.txt", "");
  second.add("4.cls", "2");
  write_bytes(folder.file("2.tar"), second.finished());
  TarStreamOptions options;
  options.files.patterns = {folder.file("*.tar")};
  const Make make = [&] { return tar_stream(options); };
  Placed stream(make());
  EXPECT_EQ(stream->spec()[0].name, "txt");
  EXPECT_EQ(stream->spec()[0].most_bytes, 8);
  EXPECT_EQ(stream->spec()[1].most_bytes, 1);
  EXPECT_EQ(stream->count(), 4);
  ASSERT_TRUE(stream->start(0));
  EXPECT_EQ(texts(*stream),
            (Texts{"0 1.tar, offset 0: one 0", "1 1.tar, offset 2048: second 1",
                   "!", "3 2.tar, offset 0:  2"}));
  expect_positions_hold(make, 0);

  options.extensions = {"cls", "txt"};
  options.most_record_bytes = 4;
  Placed small(make());
  EXPECT_EQ(small->count(), kUnknownCount);
  ASSERT_TRUE(small->start(0));
  EXPECT_EQ(texts(*small), (Texts{"0 1.tar, offset 0: 0 one", "!", "!",
                                  "3 2.tar, offset 0: 2 "}));

  // One of them gzip: nobody counts it, and its files are not known.
  write_bytes(folder.file("2.tar"), io::gzip(second.finished()));
  options.extensions = {};
  options.most_record_bytes = 0;
  Placed zipped(make());
  EXPECT_EQ(zipped->count(), kUnknownCount);
  EXPECT_EQ(zipped->spec()[0].most_bytes, kMiB);
  EXPECT_EQ(zipped->spec()[1].most_bytes, kMiB);
  ASSERT_TRUE(zipped->start(0));
  EXPECT_EQ(texts(*zipped),
            (Texts{"0 1.tar, offset 0: one 0", "1 1.tar, offset 2048: second 1",
                   "!", "3 2.tar, offset 0:  2"}));
  expect_positions_hold(make, 0);
  options.files.patterns = {folder.file("2.tar")};
  options.most_record_bytes = 7;
  Placed alone(make());
  EXPECT_EQ(alone->spec()[1].most_bytes, 7);
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    ASSERT_TRUE(alone->start(epoch));
    EXPECT_EQ(texts(*alone), (Texts{"0 2.tar, offset 0:  2"}));
  }
}

TEST(ParseExample, OnSeveralThreads) {
  TemporaryFolder folder;
  Texts records;
  for (int i = 0; i < 500; ++i) {
    const float pair[] = {static_cast<float>(i), 0.5f};
    const std::vector<std::int64_t> ids(static_cast<std::size_t>(i % 3), i);
    records.push_back(io::ExampleBuilder()
                          .floats("x", pair)
                          .int64("y", i * 2)
                          .int64s("ids", ids)
                          .bytes("text", std::to_string(i))
                          .take());
  }
  records[100] = io::ExampleBuilder().int64("y", 1).take();
  write_records(folder.file("1.rec"), records);
  for (const int threads : {0, 4}) {
    auto workers = taken(Workers::create(threads));
    TfRecordStreamOptions options;
    options.files.patterns = {folder.file("1.rec")};
    auto map =
        taken(parse_example({{"text", io::FeatureKind::bytes, {}, 0},
                             {"x", io::FeatureKind::floats, {2}, 0},
                             {"y", io::FeatureKind::int64s, {}, 0},
                             {"ids", io::FeatureKind::int64s, {kVaries}, 2}}));
    ErrorPolicy policy;
    MapStreamOptions mapping;
    mapping.policy = &policy;
    Placed stream(
        map_stream(taken(tfrecord_stream(options)), {map}, *workers, mapping));
    EXPECT_EQ(to_string(stream->spec()),
              "text u8 [?], x f32 [2], y i64 [], ids i64 [?]");
    ASSERT_TRUE(stream->start(0));
    Element element;
    for (int i = 0; i < 500; ++i) {
      const auto got = stream->next(element);
      if (i == 100) {
        ASSERT_FALSE(got);
        EXPECT_NE(got.error().message.find("element 100 (" +
                                           folder.file("1.rec") + ", offset "),
                  std::string::npos);
        EXPECT_NE(got.error().message.find("parse_example: "),
                  std::string::npos);
        continue;
      }
      ASSERT_TRUE(got && *got);
      EXPECT_EQ(float_at(element.values[1], 0), static_cast<float>(i));
      std::int64_t y = 0;
      std::memcpy(&y, element.values[2].data, 8);
      EXPECT_EQ(y, i * 2);
      EXPECT_EQ(element.values[3].shape, (Extents{i % 3}));
      EXPECT_EQ(element.values[0].bytes, std::ssize(std::to_string(i)));
    }
    EXPECT_FALSE(*stream->next(element));
  }
  EXPECT_FALSE(parse_example({}));
  EXPECT_FALSE(
      parse_example({{"x", io::FeatureKind::floats, {kVaries, 2}, 9}}));
  EXPECT_FALSE(parse_example({{"x", io::FeatureKind::floats, {kVaries}, 0}}));
}

}  // namespace
}  // namespace plimsoll::data
