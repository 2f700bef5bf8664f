#include "io/csv.h"

#include <gtest/gtest.h>

#include "io/csv_fixture.h"

namespace plimsoll::io {
namespace {

TEST_F(CsvTest, QuotesAsTheStandardHasThem) {
  for (const std::int64_t window : {24, 25, 26, 27, 28, 29, 30, 100}) {
    EXPECT_EQ(rows("a,\"b,c\",\"d\"\"e\"\r\n\"\",\"line\nline\",x\n"
                   "\"\"\"\"\"\",\"\"\"q\",z",
                   texts(3), window),
              (Rows{"a b,c d\"e", " line\nline x", "\"\" \"q z"}))
        << window;
  }
}

TEST_F(CsvTest, RowsEndAtLfCrlfOrTheEnd) {
  EXPECT_EQ(rows("a,b\r\nc,d\ne,f", texts(2)), (Rows{"a b", "c d", "e f"}));
  EXPECT_EQ(rows("a,\"b\"\r\n\"c\",\"d\"", texts(2)), (Rows{"a b", "c d"}));
  EXPECT_EQ(rows("a,\nb,", texts(2)), (Rows{"a ", "b "}));
  EXPECT_EQ(rows("\n\na,b\n\r\n\nc,d\n\n", texts(2)), (Rows{"a b", "c d"}));
  EXPECT_EQ(rows("\"\"\na\n\"\"", texts(1)), (Rows{"", "a", ""}));
  // Quotes inside a cell that does not begin with one are themselves.
  EXPECT_EQ(rows("a\"b\",c\n", texts(2)), Rows{"a\"b\" c"});
}

TEST_F(CsvTest, ATableOfNumbersThroughASmallWindow) {
  std::string text = "x,y\n";
  Rows wanted;
  for (int i = 0; i < 500; ++i) {
    text += std::to_string(i) + "," + std::to_string(-i) + ".5\n";
    wanted.push_back(std::to_string(i) + " " + std::to_string(-i) + ".5");
  }
  wanted[0] = "0 0.5";
  for (const std::int64_t window : {20, 33, 64, 100000}) {
    EXPECT_EQ(rows(text, {}, window), wanted);
  }
}

TEST_F(CsvTest, ErrorsNameLineColumnAndText) {
  CsvOptions options;
  EXPECT_EQ(rows("x,y\n1,2\n1,two\n\n3,4\n", {.sample_rows = 1}),
            (Rows{"1 2", "line 3: column 'y': \"two\" is no i64", "3 4"}));
  EXPECT_EQ(rows("x,y\n1,2\n3\n4,5,6\n7,8", options),
            (Rows{"1 2", "line 3: has 1 cells, the file 2 columns",
                  "line 4: has 3 cells, the file 2 columns", "7 8"}));
  EXPECT_EQ(rows("x,y\n1,2\n3,\n", options),
            (Rows{"1 2", "line 3: column 'y': is empty; i64 is wanted"}));
  EXPECT_EQ(rows("x,y\n1,2\n3,99999999999999999999\n", {.sample_rows = 1}),
            (Rows{"1 2",
                  "line 3: column 'y': \"99999999999999999999\" is out of "
                  "the range of i64"}));
  // Lines in quotes count.
  EXPECT_EQ(rows("x,y\n\"a\nb\",1\nc,d\n", {.sample_rows = 1}),
            (Rows{"a\nb 1", "line 4: column 'y': \"d\" is no i64"}));
}

TEST_F(CsvTest, DamagedQuotesAreErrors) {
  EXPECT_EQ(rows("a,b\n\"c\"x,d\ne,f\n", texts(2)),
            (Rows{"a b",
                  "line 2: the row that begins here has text behind a closing "
                  "quote; a quote inside quotes is written twice",
                  "e f"}));
  EXPECT_EQ(rows("a,b\nc,\"d\ne,f\n", texts(2)),
            (Rows{"a b",
                  "line 2: the row that begins here has a quote that is not "
                  "closed before the end of the file"}));
}

TEST_F(CsvTest, ARowLongerThanTheBufferIsAnError) {
  EXPECT_EQ(rows("a,b\n01234,5678\n", texts(2), 8),
            (Rows{"a b",
                  "line 2: the row that begins here is too long: 8 bytes fill "
                  "the buffer before its end"}));
  EXPECT_EQ(rows("a,b\n\"0123456789\n", texts(2), 8),
            (Rows{"a b",
                  "line 2: the row that begins here is too long: 8 bytes fill "
                  "the buffer before its end; perhaps a quote is not closed"}));
}

TEST_F(CsvTest, OtherDelimitersAndAByteOrderMark) {
  CsvOptions options;
  options.delimiter = ';';
  EXPECT_EQ(rows("\xef\xbb\xbfx;y\n1,5;2\n", options), Rows{"1,5 2"});
  EXPECT_EQ(open("\xef\xbb\xbfx;y\n1;2\n", options)->columns()[0].name, "x");
  options.delimiter = '"';
  EXPECT_EQ(rows("x", options),
            Rows{"a quote or a newline cannot be the delimiter"});
}

TEST_F(CsvTest, ComesBackToAPosition) {
  auto csv = open("x,y\n1,2\n3,4\n5,6\n", {}, 12);
  ASSERT_TRUE(csv);
  std::int64_t x = 0;
  void* const to[] = {&x, nullptr};
  ASSERT_TRUE(*csv->next(to));
  const auto position = csv->position();
  EXPECT_EQ(position.row, 1);
  EXPECT_EQ(position.line, 3);
  EXPECT_EQ(position.offset, 8);
  ASSERT_TRUE(*csv->next(to));
  ASSERT_TRUE(*csv->next(to));
  EXPECT_EQ(x, 5);
  EXPECT_FALSE(*csv->next(to));
  ASSERT_TRUE(csv->seek(position));
  ASSERT_TRUE(*csv->next(to));
  EXPECT_EQ(x, 3);
  EXPECT_EQ(csv->position().line, 4);
  EXPECT_EQ(csv->position().row, 2);
}

TEST_F(CsvTest, MemoryMustMatchTheColumns) {
  auto csv = open("x,y\n1,2\n", {});
  ASSERT_TRUE(csv);
  EXPECT_FALSE(csv->next({}));
}

TEST_F(CsvTest, GzipThatIsCutGivesEveryRowBeforeTheCut) {
  std::string text = "x,y\n";
  for (int i = 0; i < 400; ++i) text += std::to_string(i * 7919) + ",1\n";
  const std::string zipped = gzip(text);
  // Smaller than the text, so that the cut is met at every place in it.
  memory_ = ReaderMemory(byte_reader_bytes(24));
  for (std::size_t cut = zipped.size() / 2; cut < zipped.size(); ++cut) {
    write_bytes(path_, zipped.substr(0, cut));
    auto bytes = ByteReader::open(path_, memory_);
    ASSERT_TRUE(bytes);
    std::int64_t newlines = 0;
    while (bytes->fill(1) && bytes->available_bytes() > 0) {
      newlines += bytes->peek()[0] == std::byte{'\n'} ? 1 : 0;
      bytes->consume(1);
    }
    ASSERT_TRUE(bytes->seek(0));
    auto csv = CsvReader::open(*std::move(bytes));
    ASSERT_TRUE(csv) << csv.error().message;
    std::int64_t x = 0;
    void* const to[] = {&x, nullptr};
    std::int64_t row = 0;
    auto more = csv->next(to);
    for (; more && *more; more = csv->next(to)) ASSERT_EQ(x, row++ * 7919);
    EXPECT_EQ(row, newlines - 1) << cut;
    ASSERT_FALSE(more);
    EXPECT_NE(more.error().message.find("is truncated"), std::string::npos);
    EXPECT_FALSE(csv->can_continue());
  }
}

}  // namespace
}  // namespace plimsoll::io
