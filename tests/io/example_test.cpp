#include "io/example.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "io/example_builder.h"
#include "io/reader_memory.h"

namespace plimsoll::io {
namespace {

// Fields of the wire format, written by hand.
std::string field(int number, std::string_view inside) {
  EXPECT_LT(inside.size(), 128u);
  std::string out;
  out += static_cast<char>(number << 3 | 2);
  out += static_cast<char>(inside.size());
  out += inside;
  return out;
}
std::string entry(std::string_view name, std::string_view feature) {
  return field(1, field(1, name) + field(2, feature));
}
std::string float_bytes(std::initializer_list<float> values) {
  std::string out;
  for (const float v : values) {
    out.append(reinterpret_cast<const char*>(&v), 4);
  }
  return out;
}

struct Parsed {
  Status status;
  std::vector<float> floats;
  std::vector<std::int64_t> int64s;
  std::vector<std::string> bytes;
};

Parsed parse(const ExampleSpec& spec, std::string_view record) {
  auto parser = ExampleParser::create(spec);
  EXPECT_TRUE(parser);
  // A copy of the exact size: the sanitizers watch its end.
  const std::vector<char> exact(record.begin(), record.end());
  std::vector<std::vector<float>> floats(spec.size());
  std::vector<std::vector<std::int64_t>> int64s(spec.size());
  std::vector<std::vector<std::span<const std::byte>>> bytes(spec.size());
  std::vector<FeatureMemory> memory(spec.size());
  for (std::size_t i = 0; i < spec.size(); ++i) {
    const auto count = static_cast<std::size_t>(spec[i].count);
    floats[i].resize(count);
    int64s[i].resize(count);
    bytes[i].resize(count);
    memory[i] = {floats[i].data(), int64s[i].data(), bytes[i].data(), 0};
  }
  Parsed parsed;
  parsed.status = parser->parse(std::as_bytes(std::span(exact)), memory);
  if (!parsed.status) return parsed;
  for (std::size_t i = 0; i < spec.size(); ++i) {
    for (std::size_t k = 0; k < static_cast<std::size_t>(memory[i].count);
         ++k) {
      if (spec[i].kind == FeatureKind::floats) {
        parsed.floats.push_back(floats[i][k]);
      } else if (spec[i].kind == FeatureKind::int64s) {
        parsed.int64s.push_back(int64s[i][k]);
      } else {
        parsed.bytes.push_back(text_of(bytes[i][k]));
      }
    }
  }
  return parsed;
}

std::string error_of(const ExampleSpec& spec, std::string_view record) {
  const Parsed parsed = parse(spec, record);
  return parsed.status ? "no error" : parsed.status.error().message;
}

const FeatureSpec kX{"x", FeatureKind::floats, 3, false};
const FeatureSpec kY{"y", FeatureKind::int64s, 1, false};
const FeatureSpec kImage{"image", FeatureKind::bytes, 1, false};

TEST(Example, ReadsWhatTheBuilderWrites) {
  const std::array<float, 3> x{1.5f, -2.0f,
                               std::numeric_limits<float>::infinity()};
  const std::array<std::int64_t, 6> many{
      0,
      1,
      -1,
      300,
      std::numeric_limits<std::int64_t>::max(),
      std::numeric_limits<std::int64_t>::min()};
  const std::array<std::string_view, 3> texts{"", "ab", "c"};
  ExampleBuilder builder;
  const std::string record = builder.floats("x", x)
                                 .int64s("many", many)
                                 .int64("y", 7)
                                 .bytes("image", std::string(1000, 'i'))
                                 .bytes("texts", texts)
                                 .take();
  const Parsed parsed = parse({kX,
                               kY,
                               {"many", FeatureKind::int64s, 6, false},
                               kImage,
                               {"texts", FeatureKind::bytes, 5, true}},
                              record);
  ASSERT_TRUE(parsed.status) << parsed.status.error().message;
  EXPECT_EQ(parsed.floats, std::vector<float>(x.begin(), x.end()));
  std::vector<std::int64_t> numbers{7};
  numbers.insert(numbers.end(), many.begin(), many.end());
  EXPECT_EQ(parsed.int64s, numbers);
  EXPECT_EQ(parsed.bytes,
            (std::vector<std::string>{std::string(1000, 'i'), "", "ab", "c"}));
  EXPECT_EQ(builder.take(), std::string("\x0a\x00", 2)) << "empty again";
}

TEST(Example, FeaturesInAnyOrderAndUnknownOnes) {
  auto parser = ExampleParser::create({kX, kY});
  ASSERT_TRUE(parser);
  const std::array<float, 3> x{1, 2, 3};
  const std::string records[] = {
      ExampleBuilder().floats("x", x).int64("y", 4).take(),
      ExampleBuilder().int64("y", 5).floats("x", x).take(),
      ExampleBuilder().int64("z", 1).int64("y", 6).floats("x", x).take(),
      ExampleBuilder().floats("x", x).bytes("q", "").int64("y", 7).take(),
      ExampleBuilder().floats("x", x).int64("y", 8).int64("yy", 1).take()};
  std::int64_t wanted = 4;
  for (const auto& record : records) {
    std::array<float, 3> floats{};
    std::int64_t y = 0;
    std::array<FeatureMemory, 2> memory{};
    memory[0].floats = floats.data();
    memory[1].int64s = &y;
    const auto status = parser->parse(bytes_of(record), memory);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(floats, x);
    EXPECT_EQ(y, wanted++);
  }
}

TEST(Example, NumbersOneByOneOrPacked) {
  std::string one_by_one;
  for (const float value : {1.0f, 2.0f}) {
    one_by_one += '\x0d';
    one_by_one += float_bytes({value});
  }
  const std::string mixed = one_by_one + field(1, float_bytes({3}));
  EXPECT_EQ(parse({kX}, field(1, entry("x", field(2, mixed)))).floats,
            (std::vector<float>{1, 2, 3}));
  const std::string ints = std::string("\x08\x05") + field(1, "\x06\x07");
  EXPECT_EQ(parse({{"y", FeatureKind::int64s, 3, false}},
                  field(1, entry("y", field(3, ints))))
                .int64s,
            (std::vector<std::int64_t>{5, 6, 7}));
}

TEST(Example, TheLastOfTwoEntriesWinsAndListsOfOneEntryAreJoined) {
  const auto y = [](char value) {
    return field(3, field(1, std::string(1, value)));
  };
  EXPECT_EQ(
      parse({kY}, field(1, entry("y", y(1)) + entry("y", y(2)))).int64s[0], 2);
  // Also across two `features`, which are one message in two parts.
  EXPECT_EQ(parse({kY}, field(1, entry("y", y(1))) + field(1, entry("y", y(3))))
                .int64s[0],
            3);
  const FeatureSpec two{"y", FeatureKind::int64s, 2, false};
  EXPECT_EQ(parse({two}, field(1, entry("y", y(1) + y(2)))).int64s,
            (std::vector<std::int64_t>{1, 2}));
  const std::string value_first = field(1, field(2, y(4)) + field(1, "y"));
  EXPECT_EQ(parse({kY}, field(1, value_first)).int64s[0], 4);
  // Another kind in between starts over.
  EXPECT_EQ(
      parse({kY}, field(1, entry("y", y(1) + field(2, "") + y(5)))).int64s,
      (std::vector<std::int64_t>{5}));
}

TEST(Example, FieldsNobodyKnowsArePassedOver) {
  const std::string unknown = field(9, "abc") + std::string("\x50\x81\x01") +
                              "\x5d" + "1234" + "\x61" + "12345678";
  const std::string y =
      field(3, unknown + field(1, "\x07")) + unknown + field(4, "x");
  const std::string record =
      unknown + field(1, unknown + field(1, unknown + field(1, "y") +
                                                field(2, y) + unknown));
  const Parsed parsed = parse({kY}, record);
  ASSERT_TRUE(parsed.status) << parsed.status.error().message;
  EXPECT_EQ(parsed.int64s[0], 7);
}

TEST(Example, ErrorsNameTheFeature) {
  const std::array<float, 2> two{1, 2};
  const std::array<float, 4> four{1, 2, 3, 4};
  EXPECT_EQ(error_of({kX, kY}, ExampleBuilder().int64("y", 1).take()),
            "feature 'x' is missing");
  EXPECT_EQ(error_of({kX}, ""), "feature 'x' is missing");
  EXPECT_EQ(error_of({kX}, ExampleBuilder().int64("x", 1).take()),
            "feature 'x' holds int64s; floats are wanted");
  EXPECT_EQ(error_of({kX}, field(1, entry("x", ""))),
            "feature 'x' holds nothing; floats are wanted");
  EXPECT_EQ(error_of({kX}, ExampleBuilder().floats("x", two).take()),
            "feature 'x' has 2 floats; 3 are wanted");
  EXPECT_EQ(error_of({kX}, ExampleBuilder().floats("x", four).take()),
            "feature 'x' has 4 floats; 3 are wanted");
  FeatureSpec varies = kX;
  varies.varies = true;
  EXPECT_EQ(error_of({varies}, ExampleBuilder().floats("x", two).take()),
            "no error");
  EXPECT_EQ(error_of({varies}, ExampleBuilder().floats("x", {}).take()),
            "no error");
  EXPECT_EQ(error_of({varies}, ExampleBuilder().floats("x", four).take()),
            "feature 'x' has 4 floats; at most 3 are wanted");
  const std::array<std::int64_t, 2> ints{1, 2};
  EXPECT_EQ(error_of({kY}, ExampleBuilder().int64s("y", ints).take()),
            "feature 'y' has 2 int64s; 1 are wanted");
  const std::array<std::string_view, 2> texts{"a", "b"};
  EXPECT_EQ(error_of({kImage}, ExampleBuilder().bytes("image", texts).take()),
            "feature 'image' has 2 bytes; 1 are wanted");
}

TEST(Example, MalformedRecordsAreRefusedWithTheByte) {
  EXPECT_EQ(error_of({}, "\x0a\x05"),
            "is no tf.train.Example: it is malformed at its byte 2 of 2");
  const std::string bad[] = {
      std::string("\x0b", 1),                            // a group
      std::string("\x02\x00", 2),                        // field 0
      std::string(11, '\xff'),                           // an endless number
      field(1, field(1, "\x0a")),                        // a key cut off
      field(1, entry("x", field(2, field(1, "abc")))),   // 3 bytes of floats
      field(1, entry("y", field(3, field(1, "\xff")))),  // a number cut off
      field(1, entry("y", field(3,
                                "\x0d"
                                "12"))),  // 4 bytes cut off
      field(1, entry("image", field(1,
                                    "\x0a\x05"
                                    "ab"))),  // bytes cut off
  };
  for (const auto& record : bad) {
    EXPECT_NE(error_of({kX, kY, kImage}, record).find("is malformed"),
              std::string::npos)
        << ::testing::PrintToString(record);
  }
}

TEST(Example, EveryTruncationIsRefused) {
  const std::array<float, 3> x{1, 2, 3};
  const std::string record = ExampleBuilder()
                                 .floats("x", x)
                                 .int64("y", 300)
                                 .bytes("image", "i")
                                 .take();
  ASSERT_EQ(error_of({kX, kY, kImage}, record), "no error");
  for (std::size_t size = 0; size < record.size(); ++size) {
    EXPECT_NE(error_of({kX, kY, kImage}, record.substr(0, size)), "no error")
        << size;
  }
}

TEST(Example, ASpecMustMakeSense) {
  EXPECT_EQ(ExampleParser::create({kX, kX}).error().message,
            "feature 'x' is wanted twice");
  EXPECT_FALSE(ExampleParser::create({{"a", FeatureKind::none, 1, false}}));
  EXPECT_FALSE(ExampleParser::create({{"a", FeatureKind::bytes, -1, false}}));
  auto parser = ExampleParser::create({kX});
  EXPECT_FALSE(parser->parse({}, {})) << "no memory for the feature";
}

}  // namespace
}  // namespace plimsoll::io
