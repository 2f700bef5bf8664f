#include "io/npy.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "io/temporary_folder.h"

namespace plimsoll::io {
namespace {

std::string npy(const std::string& dictionary, const std::string& data,
                int version = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    out += static_cast<char>(dictionary.size() >> (8 * i));
  }
  return out + dictionary + data;
}

std::string dictionary(const std::string& descr, const std::string& shape,
                       const std::string& fortran = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + fortran +
         ", 'shape': " + shape + ", }  \n";
}

// The error of opening these bytes, less the path it must begin with.
std::string refusal(const std::string& bytes) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.npy");
  write_bytes(path, bytes);
  const auto file = NpyFile::open(path);
  if (file) return "(read)";
  EXPECT_EQ(file.error().code, ErrorCode::bad_input);
  EXPECT_EQ(file.error().message.rfind(path + ": ", 0), 0u)
      << file.error().message;
  return file.error().message.substr(path.size() + 2);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Npy, WritesWhatItReads) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.npy");
  const std::array<float, 6> data = {1, 2, 3, 4, 5, 6};
  for (const Shape& shape : {Shape{6}, Shape{2, 3}, Shape{1, 3, 2}}) {
    ASSERT_TRUE(write_npy(path, {DType::f32, shape}, data.data()));
    const auto file = NpyFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->header(), (NpyHeader{DType::f32, shape}));
    EXPECT_EQ(file->data_offset() % 64, 0);
    std::array<float, 2> out{};
    ASSERT_TRUE(file->read(12, std::as_writable_bytes(std::span(out))));
    EXPECT_EQ(out, (std::array<float, 2>{4, 5}));
  }
}

TEST(Npy, TheWriterSaysWhatNumPySays) {
  const auto preamble = npy_preamble({DType::f64, {3}});
  ASSERT_TRUE(preamble);
  EXPECT_EQ(preamble->substr(10, 59),
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }  ");
  const auto scalar = npy_preamble({DType::boolean, {}});
  ASSERT_TRUE(scalar);
  EXPECT_TRUE(has(*scalar, "'descr': '|b1'"));
  EXPECT_TRUE(has(*scalar, "'shape': (), }"));
  EXPECT_FALSE(npy_preamble({DType::bf16, {3}}));
}

TEST(Npy, ReadsEveryPlainTypeAndVersion) {
  const std::pair<std::string, DType> types[] = {
      {"'<f8'", DType::f64},   {"'<f4'", DType::f32}, {"'<f2'", DType::f16},
      {"'|i1'", DType::i8},    {"'<i2'", DType::i16}, {"'<i4'", DType::i32},
      {"'<i8'", DType::i64},   {"'|u1'", DType::u8},  {"'<u2'", DType::u16},
      {"'<u4'", DType::u32},   {"'<u8'", DType::u64}, {"'|b1'", DType::boolean},
      {"\"<f4\"", DType::f32}, {"'=f4'", DType::f32}, {"'>u1'", DType::u8}};
  const TemporaryFolder folder;
  for (const auto& [descr, dtype] : types) {
    for (int version = 1; version <= 3; ++version) {
      const std::string path = folder.file("a.npy");
      write_bytes(path, npy(dictionary(descr, "(2, 1)"), std::string(16, '\1'),
                            version));
      const auto file = NpyFile::open(path);
      ASSERT_TRUE(file) << file.error().message;
      EXPECT_EQ(file->header(), (NpyHeader{dtype, {2, 1}}));
    }
  }
}

TEST(Npy, ReadsOtherSpellings) {
  const auto header = parse_npy_header(
      "{\"shape\":(2L,3),'fortran_order' : False,'descr':'<i4'}", "a");
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(*header, (NpyHeader{DType::i32, {2, 3}}));
  // One long dimension has no order.
  EXPECT_TRUE(parse_npy_header(dictionary("'<f4'", "(9, 1)", "True"), "a"));
}

TEST(Npy, RefusesOtherTypesByName) {
  const auto typed = [](const std::string& descr) {
    return refusal(npy(dictionary(descr, "(1,)"), std::string(64, ' ')));
  };
  EXPECT_TRUE(has(typed("'<c8'"), "complex numbers (dtype '<c8')"));
  EXPECT_TRUE(has(typed("'|O'"), "Python objects"));
  EXPECT_TRUE(has(typed("'<U5'"), "strings"));
  EXPECT_TRUE(has(typed("'<M8[ns]'"), "dates or times"));
  EXPECT_TRUE(has(typed("'|V4'"), "records"));
  EXPECT_TRUE(has(typed("[('x', '<f4')]"), "structured records"));
  EXPECT_TRUE(has(typed("'>f4'"),
                  "big-endian numbers (dtype '>f4'); save it "
                  "as little-endian '<f4'"));
  EXPECT_TRUE(has(typed("'<f16'"), "unknown type (dtype '<f16')"));
  EXPECT_TRUE(has(typed("'<c8'"), "save it as f8, f4"));
  EXPECT_TRUE(has(typed("''"), "unknown type"));
}

TEST(Npy, RefusesFortranOrder) {
  EXPECT_TRUE(has(
      refusal(npy(dictionary("'<f4'", "(2, 3)", "True"), std::string(24, ' '))),
      "[2, 3] in Fortran order; save it in C order"));
}

TEST(Npy, RefusesSizesThatTheFileDoesNotHave) {
  EXPECT_TRUE(
      has(refusal(npy(dictionary("'<f4'", "(1152921504606846976,)"), "")),
          "is truncated: [1152921504606846976] of f32 need "
          "4611686018427387904 bytes after the header, the file has 0"));
  EXPECT_TRUE(
      has(refusal(npy(dictionary("'<f8'", "(1152921504606846976,)"), "")),
          "more than any file can hold"));
  EXPECT_TRUE(
      has(refusal(npy(dictionary("'<f4'", "(4294967296, 4294967296, 0)"), "")),
          "more than any file can hold"));
  EXPECT_TRUE(
      has(refusal(npy(dictionary("'<f4'", "(99999999999999999999,)"), "")),
          "a size below 2^63"));
  EXPECT_TRUE(has(refusal(npy(dictionary("'<f4'", "(-1,)"), "")),
                  "a size that is 0 or more"));
  EXPECT_TRUE(has(refusal(npy(dictionary("'<f4'", "(3,)"), "12345678901")),
                  "need 12 bytes after the header, the file has 11"));
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1, ";
  EXPECT_TRUE(has(refusal(npy(dictionary("'<f4'", many + ")"), "1234")),
                  "more than 64 dimensions"));
}

TEST(Npy, RefusesOtherFilesAndBrokenHeaders) {
  EXPECT_TRUE(has(refusal(""), "has 0 bytes: too short"));
  EXPECT_TRUE(has(refusal("PK\3\4 this is a zip file"), "is not an npy file"));
  EXPECT_TRUE(has(refusal(npy("{}", "", 4)), "is npy version 4.0; 1 to 3"));
  EXPECT_TRUE(has(refusal(std::string("\x93NUMPY\1\0\xff\0{}", 12)),
                  "is truncated: its header ends at byte 265, the file at 12"));
  EXPECT_TRUE(has(refusal(std::string("\x93NUMPY\2\0\0\0\0\xff", 12)),
                  "claims a header of 4278190080 bytes"));
  EXPECT_TRUE(
      has(refusal(std::string("\x93NUMPY\2\0\0\0", 10)), "is truncated"));
  EXPECT_TRUE(has(refusal(npy("{}", "")), "has no descr"));
  EXPECT_TRUE(has(refusal(npy("{'descr': '<f4', 'shape': (1,)}", "1234")),
                  "has no fortran_order"));
  EXPECT_TRUE(has(refusal(npy("{'descr': '<f4', 'descr': '<f4'}", "")),
                  "'descr' twice"));
  EXPECT_TRUE(has(refusal(npy("{'evil': 1}", "")), "'evil' twice or out of"));
  EXPECT_TRUE(has(refusal(npy(dictionary("'<f4'", "(1,)") + "x", "1234")),
                  "expected the end, found \"x\""));
  EXPECT_TRUE(has(refusal(npy(dictionary("'<f4'", "(1 2)"), "1234")),
                  "expected ',' or ')'"));
}

}  // namespace
}  // namespace plimsoll::io
