#include "data/maps/pad.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "data/maps/map_runner.h"

namespace plimsoll::data {
namespace {

TEST(PadMap, PutsAnElementIntoTheCorner) {
  MapRunner runner(pad({{}, {3, 4}, -1}));
  const auto array = [](const Extents& shape,
                        const std::vector<std::int32_t>& values) {
    return varying(array_of(DType::i32, shape, values), {0, 1});
  };
  const Array two = array({2, 2}, {1, 2, 3, 4});
  const auto spec = runner.bind({two});
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ((*spec)[0], fixed_field("x", DType::i32, {3, 4}));
  const auto padded = [&](const Array& from) {
    const auto out = runner.apply({from});
    EXPECT_TRUE(out) << out.error().message;
    EXPECT_EQ((*out)[0].shape, (Extents{3, 4}));
    return values_of<std::int32_t>((*out)[0]);
  };
  using Values = std::vector<std::int32_t>;
  EXPECT_EQ(padded(two), (Values{1, 2, -1, -1, 3, 4, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(padded(array({1, 4}, {1, 2, 3, 4})),
            (Values{1, 2, 3, 4, -1, -1, -1, -1, -1, -1, -1, -1}));
  const Values all = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_EQ(padded(array({3, 4}, all)), all);
  for (const Extents& empty : {Extents{0, 4}, Extents{3, 0}, Extents{0, 0}}) {
    EXPECT_EQ(padded(array(empty, {})), Values(12, -1));
  }
}

TEST(PadMap, EveryTypeAndItsOwnField) {
  for (const DType dtype :
       {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i8, DType::i16,
        DType::i32, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64,
        DType::boolean}) {
    SCOPED_TRACE(std::string(name_of(dtype)));
    const auto width = static_cast<std::size_t>(size_of(dtype));
    Array field = varying(
        array_of(dtype, {2}, std::vector<std::uint8_t>(2 * width, 1)), {0});
    field.spec.name = "ids";
    const Array other =
        array_of(DType::u8, {2}, std::vector<std::uint8_t>(2, 7));
    MapRunner runner(pad({{"ids", 0}, {5}, 1}));
    ASSERT_TRUE(runner.bind({other, field}));
    const auto out = runner.apply({other, field});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ((*out)[0].data, other.data);
    const auto& bytes = (*out)[1].data;
    ASSERT_EQ(bytes.size(), 5 * width);
    for (std::size_t i = 0; i < 2 * width; ++i) {
      EXPECT_EQ(bytes[i], std::byte{1});
    }
    // A single 1 of that type, three times.
    MapRunner one(pad({{}, {1}, 1}));
    const auto single = one.run(
        varying(array_of(dtype, {0}, std::vector<std::uint8_t>{}), {0}));
    ASSERT_TRUE(single);
    for (std::size_t i = 2 * width; i < 5 * width; ++i) {
      EXPECT_EQ(bytes[i], single->data[i % width]);
    }
    EXPECT_NE(single->data, std::vector<std::byte>(width));
  }
}

// Against a loop over every index.
TEST(PadMap, RandomShapes) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    Extents in;
    Extents to;
    in.rank = to.rank = static_cast<int>(random() % (kMostRank + 1));
    for (std::size_t i = 0; i < static_cast<std::size_t>(to.rank); ++i) {
      const std::uint64_t most = 1 + random() % 4;
      to.sizes[i] = static_cast<std::int64_t>(most);
      in.sizes[i] = static_cast<std::int64_t>(random() % (most + 1));
    }
    std::vector<std::uint16_t> values(static_cast<std::size_t>(in.elements()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::uint16_t>(i + 1);
    }
    std::vector<std::uint16_t> expected;
    std::size_t taken = 0;
    for (std::int64_t at = 0; at < to.elements(); ++at) {
      bool inside = true;
      std::int64_t rest = at;
      for (int i = to.rank - 1; i >= 0; --i) {
        inside = inside && rest % to[i] < in[i];
        rest /= to[i];
      }
      expected.push_back(inside ? values[taken++] : 60000);
    }
    Array array = array_of(DType::u16, in, values);
    for (int i = 0; i < in.rank; ++i) array = varying(array, {i});
    array.spec.most_bytes = to.elements() * 2;
    const auto out = MapRunner(pad({{}, to, 60000})).run(array);
    ASSERT_TRUE(out) << out.error().message;
    ASSERT_EQ(values_of<std::uint16_t>(*out), expected)
        << to_string(in) << " to " << to_string(to);
  }
}

TEST(PadMap, RefusesWhatDoesNotFitByItsExtents) {
  MapRunner runner(pad({{}, {2, 3}, 0}));
  const auto bytes = [](const Extents& shape) {
    return varying(array_of(DType::u8, shape,
                            std::vector<std::uint8_t>(
                                static_cast<std::size_t>(shape.elements()))),
                   {0, 1});
  };
  ASSERT_TRUE(runner.bind({bytes({1, 1})}));
  EXPECT_TRUE(runner.apply({bytes({2, 3})}));
  for (const auto& [shape, text] :
       {std::pair{Extents{3, 1}, "[3, 1] does not fit into [2, 3]"},
        std::pair{Extents{1, 4}, "[1, 4] does not fit into [2, 3]"}}) {
    const auto large = runner.apply({bytes(shape)});
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().message, text);
  }
  Array flat = array_of(DType::u8, {2}, std::vector<std::uint8_t>{1, 2});
  const auto other = runner.apply({flat});
  ASSERT_FALSE(other);
  EXPECT_TRUE(has(other.error().message, "[2]")) << other.error().message;
}

TEST(PadMap, RefusesOptionsThatCannotBe) {
  const auto refusal = [](const Extents& shape, double value, DType dtype) {
    const std::vector<std::uint8_t> two(
        2 * static_cast<std::size_t>(size_of(dtype)));
    return MapRunner(pad({{}, shape, value}))
        .refusal(array_of(dtype, {2}, two));
  };
  EXPECT_EQ(refusal({1}, 0, DType::u8), "pad: [2] does not fit into [1]");
  EXPECT_EQ(refusal({2, 2}, 0, DType::u8), "pad: [2] does not fit into [2, 2]");
  EXPECT_EQ(refusal({0}, 0, DType::u8),
            "pad: an extent of 0; 1 or more is right");
  EXPECT_TRUE(has(refusal({kVaries}, 0, DType::u8), "an extent of -1"));
  EXPECT_TRUE(has(refusal({std::int64_t{1} << 60}, 0, DType::u8),
                  "more than memory can hold"));
  EXPECT_EQ(refusal({2}, 256, DType::u8),
            "pad: a value of 256; u8 cannot "
            "hold it");
  EXPECT_TRUE(has(refusal({2}, 0.5, DType::i32), "i32 cannot hold it"));
  EXPECT_TRUE(has(refusal({2}, 1e9, DType::f16), "f16 cannot hold it"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(has(refusal({2}, nan, DType::i64), "i64 cannot hold it"));
  EXPECT_EQ(refusal({2}, nan, DType::f32), "(done)");
}

}  // namespace
}  // namespace plimsoll::data
