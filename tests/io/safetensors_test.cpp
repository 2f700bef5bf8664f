#include "io/safetensors.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "io/temporary_folder.h"

namespace plimsoll::io {
namespace {

std::string file_of(const std::string& json, const std::string& data) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(json.size() >> (8 * i));
  return out + json + data;
}

std::string refusal(const std::string& bytes) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.safetensors");
  write_bytes(path, bytes);
  const auto file = SafetensorsFile::open(path);
  if (file) return "(read)";
  EXPECT_EQ(file.error().message.rfind(path + ": ", 0), 0u)
      << file.error().message;
  return file.error().message.substr(path.size() + 2);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string tensor(const std::string& name, const std::string& dtype,
                   const std::string& shape, const std::string& offsets) {
  return fmt::format(
      R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{}]}})", name, dtype,
      shape, offsets);
}

TEST(Safetensors, ReadsWhatItWrote) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.safetensors");
  const std::array<float, 6> weights = {1, 2, 3, 4, 5, 6};
  const std::array<std::uint8_t, 3> flags = {1, 0, 1};
  const std::int64_t step = 42;
  const std::vector<NamedTensor> tensors = {
      {"flags", DType::boolean, {3}, flags.data()},
      {"dense_1/kernel \"ä\"", DType::f32, {2, 3}, weights.data()},
      {"empty", DType::f32, {0, 3}, nullptr},
      {"step", DType::i64, {}, &step}};
  const TextMap metadata = {{"format", "plimsoll"}, {"note", "a\nb"}};
  ASSERT_TRUE(write_safetensors(path, tensors, metadata));

  const auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->metadata(), metadata);
  ASSERT_EQ(file->entries().size(), 4u);
  EXPECT_EQ(file->entries()[0].name, "step");  // wide types first
  for (const NamedTensor& written : tensors) {
    const auto* entry = file->find(written.name);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->dtype, written.dtype);
    EXPECT_EQ(entry->shape, written.shape);
    EXPECT_EQ(entry->offset % size_of(entry->dtype), 0);
  }
  EXPECT_EQ(file->find("other"), nullptr);

  std::array<float, 6> back{};
  const auto* entry = file->find("dense_1/kernel \"ä\"");
  const auto out = std::as_writable_bytes(std::span(back));
  ASSERT_TRUE(file->read(*entry, out));
  EXPECT_EQ(back, weights);
  EXPECT_FALSE(file->read(*entry, out.first(23)));
}

TEST(Safetensors, WritesTheFormatToTheByte) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.safetensors");
  const std::array<char, 2> data = {'h', 'i'};
  ASSERT_TRUE(write_safetensors(
      path, std::vector<NamedTensor>{{"t", DType::u8, {2}, data.data()}},
      {{"k", "v"}}));
  std::string json =
      "{\"__metadata__\":{\"k\":\"v\"},"
      "\"t\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}";
  while (json.size() % 8 != 0) json += ' ';
  EXPECT_EQ(read_bytes(path), file_of(json, "hi"));
}

TEST(Safetensors, TheWriterRefusesBadNames) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.safetensors");
  const float x = 1;
  const auto status = [&](const std::vector<NamedTensor>& tensors) {
    return write_safetensors(path, tensors, {}).ok();
  };
  const NamedTensor good = {"a", DType::f32, {1}, &x};
  EXPECT_TRUE(status({good}));
  EXPECT_FALSE(status({good, good}));
  EXPECT_FALSE(status({{"__metadata__", DType::f32, {1}, &x}}));
  EXPECT_FALSE(status({{"\xff", DType::f32, {1}, &x}}));
  EXPECT_FALSE(status({{"b", DType::f32, {1}, nullptr}}));
  EXPECT_FALSE(status({{"b", DType::f32, {Dim::batch()}, &x}}));
  EXPECT_EQ(SafetensorsFile::open(path)->entries().size(), 1u);
}

TEST(Safetensors, RefusesRangesThatDoNotFit) {
  const auto with = [](const std::string& entries, const std::string& data) {
    return refusal(file_of(fmt::format("{{{}}}", entries), data));
  };
  EXPECT_EQ(with(tensor("a", "F32", "2", "0,8"), "12345678"), "(read)");
  EXPECT_TRUE(has(with(tensor("a", "F32", "2", "0,4"), "1234"),
                  "tensor 'a' of f32 [2] does not match its bytes 0 to 4"));
  EXPECT_TRUE(has(with(tensor("a", "F32", "2", "0,8"), "1234"),
                  "is truncated: tensor 'a' ends at byte 8"));
  EXPECT_TRUE(has(with(tensor("a", "F32", "1", "0,4"), "12345"),
                  "has 5 bytes of data, its tensors 4"));
  EXPECT_TRUE(has(
      with(tensor("a", "U8", "4", "0,4") + "," + tensor("b", "U8", "4", "2,6"),
           "123456"),
      "tensor 'b' begins at byte 2 of the data, inside another"));
  EXPECT_TRUE(has(
      with(tensor("a", "U8", "2", "0,2") + "," + tensor("b", "U8", "2", "4,6"),
           "123456"),
      "tensor 'b' begins at byte 4 of the data, after a hole"));
  EXPECT_TRUE(has(with(tensor("a", "U8", "2", "4,2"), ""), "does not match"));
  EXPECT_TRUE(has(with(tensor("a", "F32", "4611686018427387904, 4", "0,0"), ""),
                  "does not match"));
  EXPECT_TRUE(has(with(tensor("a", "U8", "9223372036854775808", "0,0"), ""),
                  "9223372036854775808 under 'shape' of 'a'"));
  EXPECT_TRUE(has(with(tensor("a", "U8", "-1", "0,0"), ""), "-1 under"));
}

TEST(Safetensors, RefusesOtherHeaders) {
  EXPECT_TRUE(has(refusal("1234567"), "has 7 bytes: too short"));
  EXPECT_TRUE(has(refusal(std::string(8, '\xff')), "at most 100000000"));
  EXPECT_TRUE(has(refusal(std::string("\x10\0\0\0\0\0\0\0{}", 10)),
                  "is truncated: its header ends at byte 24"));
  EXPECT_TRUE(has(refusal(file_of("", "")), "does not begin with '{'"));
  EXPECT_TRUE(has(refusal(file_of("[]", "")), "does not begin with '{'"));
  EXPECT_TRUE(has(refusal(file_of("{\"a\":", "")), "no JSON at its byte"));
  EXPECT_TRUE(has(refusal(file_of("{\"a\":1}", "")), "1 under 'a'"));
  EXPECT_TRUE(has(refusal(file_of("{\"a\":{}}", "")), "'a' lacks dtype"));
  EXPECT_TRUE(
      has(refusal(file_of(
              fmt::format("{{{}}}", tensor("a", "F8_E4M3", "1", "0,1")), "1")),
          "dtype 'F8_E4M3', which is not known"));
  const std::string twice = tensor("a", "U8", "1", "0,1");
  EXPECT_TRUE(has(refusal(file_of(fmt::format("{{{0},{0}}}", twice), "1")),
                  "'a' twice"));
  EXPECT_TRUE(has(refusal(file_of("{\"__metadata__\":{\"k\":1}}", "")),
                  "1 under 'k' of '__metadata__'"));
  EXPECT_TRUE(has(refusal(file_of("{\"a\":{\"shape\":[[1]]}}", "")), "a list"));
  EXPECT_TRUE(
      has(refusal(file_of("{\"a\":{\"b\":{}}}", "")), "an object under 'b'"));
  // Deep nesting stops at the first step, not at the end of the stack.
  EXPECT_TRUE(has(refusal(file_of("{\"a\":" + std::string(1 << 20, '['), "")),
                  "a list under 'a'"));
}

}  // namespace
}  // namespace plimsoll::io
