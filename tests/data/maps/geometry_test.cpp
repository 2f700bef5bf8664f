#include "data/maps/geometry.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "data/maps/map_runner.h"

namespace plimsoll::data {
namespace {

// Pixel (y, x) holds 100 * y + x in its first channel.
Array numbered(std::int64_t height, std::int64_t width,
               std::int64_t channels = 1) {
  std::vector<std::int32_t> values;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < channels; ++c) {
        values.push_back(static_cast<std::int32_t>(100 * y + x + 10000 * c));
      }
    }
  }
  return array_of(DType::i32, {height, width, channels}, values);
}

TEST(CropMap, TakesTheCentreOrAGivenPlace) {
  const auto centre = MapRunner(crop({{}, 2, 3})).run(numbered(5, 6));
  ASSERT_TRUE(centre) << centre.error().message;
  EXPECT_EQ(centre->shape, (Extents{2, 3, 1}));
  EXPECT_EQ(centre->spec, fixed_field("x", DType::i32, {2, 3, 1}));
  EXPECT_EQ(values_of<std::int32_t>(*centre),
            (std::vector<std::int32_t>{101, 102, 103, 201, 202, 203}));
  const auto given =
      MapRunner(crop({{}, 1, 2, CropOffset{4, 4}})).run(numbered(5, 6, 2));
  ASSERT_TRUE(given);
  EXPECT_EQ(values_of<std::int32_t>(*given),
            (std::vector<std::int32_t>{404, 10404, 405, 10405}));
  const Array flat = array_of<std::uint8_t>(DType::u8, {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(values_of<std::uint8_t>(
                *MapRunner(crop({{}, 2, 1, CropOffset{0, 1}})).run(flat)),
            (std::vector<std::uint8_t>{2, 4}));
}

TEST(CropMap, RefusesWindowsThatLieOutside) {
  EXPECT_TRUE(has(MapRunner(crop({{}, 6, 1})).refusal(numbered(5, 6)),
                  "crop: a window of 1 by 6 at row 0, column 0 does not lie "
                  "within [5, 6, 1]"));
  EXPECT_TRUE(
      has(MapRunner(crop({{}, 1, 1, CropOffset{0, 6}})).refusal(numbered(5, 6)),
          "does not lie within"));
  EXPECT_TRUE(has(MapRunner(crop({{}, 0, 1})).refusal(numbered(5, 6)),
                  "both should be 1 or more"));
  EXPECT_TRUE(has(
      MapRunner(crop({{}, 1, 1, CropOffset{-1, 0}})).refusal(numbered(5, 6)),
      "its offset 0 or more"));
  EXPECT_TRUE(has(MapRunner(crop({{}, 1, 1}))
                      .refusal(array_of<float>(DType::f32, {3}, {1, 2, 3})),
                  "it should be [height, width, ...]"));
  // Only the element shows it.
  MapRunner runner(crop({{}, 3, 3}));
  Array image = varying(numbered(4, 4), {0, 1});
  ASSERT_TRUE(runner.bind({image}));
  EXPECT_TRUE(runner.apply({image}));
  const Array small = varying(numbered(2, 4), {0, 1});
  EXPECT_TRUE(has(runner.apply({small}).error().message,
                  "a window of 3 by 3 at row 0, column 0 does not lie within "
                  "[2, 4, 1]"));
}

TEST(RandomCropMap, IsAFunctionOfSeedEpochIndexAndSalt) {
  MapRunner runner(random_crop({{}, 3, 3}));
  const Array image = numbered(10, 10);
  ASSERT_TRUE(runner.bind({image}));
  const auto corner = [](const MapRunner& from, const Array& of) {
    return values_of<std::int32_t>((*from.apply({of}))[0])[0];
  };
  std::set<std::int32_t> corners;
  for (runner.index = 0; runner.index < 2000; ++runner.index) {
    corners.insert(corner(runner, image));
  }
  EXPECT_EQ(corners.size(), 64u);  // every place there is, the last included
  EXPECT_EQ(*corners.rbegin(), 707);
  const auto first_hundred = [&](std::uint64_t seed, std::int64_t epoch,
                                 std::uint64_t salt) {
    MapRunner other(random_crop({{}, 3, 3, salt}));
    EXPECT_TRUE(other.bind({image}));
    other.seed = seed;
    other.epoch = epoch;
    std::vector<std::int32_t> out;
    for (other.index = 0; other.index < 100; ++other.index) {
      out.push_back(corner(other, image));
    }
    return out;
  };
  const auto same = first_hundred(1, 0, 0);
  EXPECT_EQ(first_hundred(1, 0, 0), same);
  EXPECT_NE(first_hundred(2, 0, 0), same);
  EXPECT_NE(first_hundred(1, 1, 0), same);
  EXPECT_NE(first_hundred(1, 0, 1), same);
}

TEST(FlipMap, ReversesRowsOrColumns) {
  for (const std::int64_t channels : {1, 3, 4, 5}) {
    const Array image = numbered(3, 4, channels);
    const auto in = values_of<std::int32_t>(image);
    const auto sides = MapRunner(flip({})).run(image);
    const auto down = MapRunner(flip({{}, FlipAxis::up_down})).run(image);
    ASSERT_TRUE(sides && down);
    const auto at = [&](std::int64_t y, std::int64_t x, std::int64_t c) {
      return static_cast<std::size_t>((y * 4 + x) * channels + c);
    };
    for (std::int64_t y = 0; y < 3; ++y) {
      for (std::int64_t x = 0; x < 4; ++x) {
        for (std::int64_t c = 0; c < channels; ++c) {
          ASSERT_EQ(values_of<std::int32_t>(*sides)[at(y, x, c)],
                    in[at(y, 3 - x, c)]);
          ASSERT_EQ(values_of<std::int32_t>(*down)[at(y, x, c)],
                    in[at(2 - y, x, c)]);
        }
      }
    }
  }
  for (const std::int64_t pixel : {1, 3, 4, 12, 16, 5}) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(7 * pixel));
    std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
    const auto out =
        MapRunner(flip({})).run(array_of(DType::u8, {1, 7, pixel}, bytes));
    EXPECT_EQ(values_of<std::uint8_t>(*out)[0], 6 * pixel);
    EXPECT_EQ(values_of<std::uint8_t>(*out).back(), pixel - 1);
  }
}

TEST(RandomFlipMap, FlipsAsOftenAsSaid) {
  const Array image = array_of<std::uint8_t>(DType::u8, {1, 2}, {0, 1});
  const auto flips = [&](RandomFlipOptions options) {
    MapRunner runner(random_flip(options));
    EXPECT_TRUE(runner.bind({image}));
    std::vector<int> out;
    for (runner.index = 0; runner.index < 1000; ++runner.index) {
      out.push_back(values_of<std::uint8_t>((*runner.apply({image}))[0])[0]);
    }
    return out;
  };
  const auto count = [](const std::vector<int>& of) {
    return std::accumulate(of.begin(), of.end(), 0);
  };
  EXPECT_NEAR(count(flips({})), 500, 60);
  EXPECT_EQ(count(flips({{}, FlipAxis::left_right, 0})), 0);
  EXPECT_EQ(count(flips({{}, FlipAxis::left_right, 1})), 1000);
  EXPECT_NEAR(count(flips({{}, FlipAxis::left_right, 0.1f})), 100, 40);
  EXPECT_EQ(flips({}), flips({}));
  EXPECT_NE(flips({}), flips({{}, FlipAxis::left_right, 0.5f, 9}));
  EXPECT_TRUE(
      has(MapRunner(random_flip({{}, FlipAxis::up_down, 1.5f})).refusal(image),
          "a probability of 1.5; 0 to 1 is right"));
}

TEST(ReshapeMap, PassesTheSameBytesOn) {
  const Array image = numbered(2, 3, 4);
  MapRunner runner(reshape({{}, {kVaries, 8}}));
  const auto out = runner.run(image);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->spec, fixed_field("x", DType::i32, {3, 8}));
  EXPECT_EQ(out->shape, (Extents{3, 8}));
  EXPECT_EQ(out->data, image.data);
  EXPECT_FALSE(runner.map().writes(0));
  MapRunner later(reshape({{}, {kVaries}}));
  const auto flat = later.run(varying(image, {0}));
  ASSERT_TRUE(flat);
  EXPECT_EQ(flat->shape, Extents{24});
  EXPECT_EQ(flat->spec.shape, Extents{kVaries});
}

TEST(ReshapeMap, RefusesShapesThatAreNotFilled) {
  const auto refusal = [](const Extents& shape) {
    return MapRunner(reshape({{}, shape})).refusal(numbered(2, 3));
  };
  EXPECT_TRUE(has(refusal({5}),
                  "reshape: [2, 3, 1] has 6 elements and does "
                  "not fill [5]"));
  EXPECT_TRUE(has(refusal({kVaries, 4}), "does not fill [?, 4]"));
  EXPECT_TRUE(has(refusal({kVaries, kVaries}), "-1 stands twice"));
  EXPECT_TRUE(has(refusal({0}), "an extent of 0"));
  const std::int64_t large = std::int64_t{1} << 62;
  EXPECT_TRUE(has(refusal({large, large}), "does not fill"));
}

}  // namespace
}  // namespace plimsoll::data
