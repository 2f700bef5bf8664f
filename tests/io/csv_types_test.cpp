// Headers and types of CSV files, told or declared.
#include <gtest/gtest.h>

#include "io/csv_fixture.h"

namespace plimsoll::io {
namespace {

std::string types_of(const Result<CsvReader>& csv) {
  if (!csv) return csv.error().message;
  std::string all;
  for (const CsvColumn& column : csv->columns()) {
    all += column.name + ":" + std::string(name_of(column.type)) + " ";
  }
  return all;
}

TEST_F(CsvTest, TypesAreToldByTheFirstRows) {
  EXPECT_EQ(types_of(open("a,b,c,d,e\n1,1,1e300,x,\n-2,.5,1,2,\n", {})),
            "a:i64 b:f32 c:f64 d:text e:text ");
  EXPECT_EQ(types_of(open("a,b\n1,\"2\"\n, +3 \n", {})), "a:i64 b:i64 ");
  EXPECT_EQ(types_of(open("a,b\nnan,inf\n1,2\n", {})), "a:f32 b:f32 ");
  EXPECT_EQ(types_of(open("a,b\n1,1 2\n1,0x10\n", {})), "a:i64 b:text ");
  // A row of another width is no sample.
  EXPECT_EQ(types_of(open("a,b\n1,2\nx\n", {})), "a:i64 b:i64 ");
  // Only as many rows as asked for.
  EXPECT_EQ(types_of(open("a,b\n1,2\n1,x\n", {.sample_rows = 1})),
            "a:i64 b:i64 ");
  // Only what the window holds.
  EXPECT_EQ(types_of(open("a,b\n1,2\n1,2\nx,y\n", {}, 12)), "a:i64 b:i64 ");
}

TEST_F(CsvTest, AHeaderIsToldByWhatIsBelow) {
  EXPECT_TRUE(open("a,b\n1,2\n", {})->has_header());
  EXPECT_TRUE(open("2020,name\n1,2\n", {})->has_header());
  EXPECT_FALSE(open("1,2\n3,4\n", {})->has_header());
  EXPECT_FALSE(open("1,x\n2,y\n", {})->has_header());
  EXPECT_EQ(types_of(open("1,x\n2,y\n", {})), "column 1:i64 column 2:text ");
  EXPECT_EQ(rows("1,x\n2,y\n"), (Rows{"1 x", "2 y"}));
  EXPECT_FALSE(open("1.5\n", {})->has_header());
  const Rows unknown{
      "line 1: whether this is a header cannot be told from what is below it: "
      "say whether the file has one"};
  EXPECT_EQ(rows("a,b\nc,d\n"), unknown);
  EXPECT_EQ(rows("a,b\n"), unknown);
  EXPECT_EQ(rows("a,b\nc,d\n", {.header = CsvHeader::yes}), Rows{"c d"});
  EXPECT_EQ(rows("a,b\nc,d\n", {.header = CsvHeader::no}),
            (Rows{"a b", "c d"}));
  EXPECT_EQ(rows("1,2\n3,4\n", {.header = CsvHeader::yes}), Rows{"3 4"});
  EXPECT_EQ(open("\"a \"\"b\"\"\",\"c\nd\"\n1,2\n", {})->columns()[0].name,
            "a \"b\"");
  EXPECT_EQ(rows("\"a\nb\",c\n1,2\nx,3\n", {.sample_rows = 1}),
            (Rows{"1 2", "line 4: column 'a?b': \"x\" is no i64"}));
}

TEST_F(CsvTest, DeclaredColumnsHold) {
  CsvOptions options;
  options.columns = {
      {"", CsvType::f64, {}}, {"n", CsvType::i32, {}}, {"", CsvType::f32, {}}};
  EXPECT_EQ(types_of(open("x,n,z\n1,2,3\n", options)), "x:f64 n:i32 z:f32 ");
  EXPECT_EQ(rows("x,n,z\n1,2,3.25\n", options), Rows{"1 2 3.25"});
  EXPECT_EQ(rows("1,2,3.25\n", options), Rows{"1 2 3.25"});
  EXPECT_EQ(rows("1,2147483648,3\n1,2.0,3\n1,2,1e39\n1,2,1e-60\n", options),
            (Rows{"line 1: column 'n': \"2147483648\" is out of the range of "
                  "i32",
                  "line 2: column 'n': \"2.0\" is no i32",
                  "line 3: column 'column 3': \"1e39\" is out of the range of "
                  "f32",
                  "1 2 0"}));
  EXPECT_EQ(rows("x,m,z\n1,2,3\n", options),
            Rows{"line 1: column 2 is 'm' and declared as 'n'"});
  EXPECT_EQ(rows("1,2\n", options),
            Rows{"line 1: has 2 cells; 3 columns are declared"});
  EXPECT_EQ(rows("", options), Rows{});
}

TEST_F(CsvTest, MissingValues) {
  CsvOptions options;
  options.missing = "-1";
  EXPECT_EQ(rows("x,y\n1,\n,a\n \t,b\n", options),
            (Rows{"1 ", "-1 a", "-1 b"}));
  // Half a unit makes the column one of f32.
  options.missing = "0.5";
  EXPECT_EQ(rows("x,y\n1,2\n,3\n", options), (Rows{"1 2", "0.5 3"}));
  options.missing = "none";
  EXPECT_EQ(rows("x,y\n1,2\n", options),
            Rows{"column 'x': the value \"none\" for missing cells is no i64"});
  CsvOptions declared;
  declared.header = CsvHeader::no;
  declared.columns = {{"", CsvType::f32, "nan"}, {"", CsvType::text, "?"}};
  EXPECT_EQ(rows(",\n1,a\n", declared), (Rows{"nan ?", "1 a"}));
}

TEST_F(CsvTest, FilesWithoutColumnsOrWithTooMany) {
  EXPECT_EQ(rows(""),
            Rows{"line 1: the file is empty: its columns cannot be told"});
  EXPECT_EQ(rows("\n\n"),
            Rows{"line 3: the file is empty: its columns cannot be told"});
  EXPECT_EQ(rows("1,2,3\n", {.most_columns = 2}),
            Rows{"line 1: has 3 cells; files of up to 2 columns are read"});
}

}  // namespace
}  // namespace plimsoll::io
