#include "data/maps/resize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/maps/map_runner.h"
#include "data/maps/resize_loops.h"
#include "data/maps/resize_vectors.h"

namespace plimsoll::data {
namespace {

// As make_resize_vectors.py has them.
template <class T>
Array image(std::int64_t height, std::int64_t width, std::int64_t channels,
            DType dtype) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < height * width * channels; ++i) {
    const auto number = static_cast<float>(i * 37 % 251);
    values.push_back(
        static_cast<T>(dtype == DType::u8 ? number : number / 16.0f - 5.0f));
  }
  return array_of(dtype, {height, width, channels}, values);
}

Array image_of(const ResizeVector& vector) {
  return vector.bytes ? image<std::uint8_t>(vector.height, vector.width,
                                            vector.channels, DType::u8)
                      : image<float>(vector.height, vector.width,
                                     vector.channels, DType::f32);
}

void expect_near(const std::vector<float>& got,
                 const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  float most = 0;
  for (const float value : expected) most = std::max(most, std::fabs(value));
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], 1e-5f * most) << i;
  }
}

TEST(ResizeMap, BilinearGivesTensorFlowsPixels) {
  for (const ResizeVector& vector : kResizeVectors) {
    const Array x = image_of(vector);
    for (const Array& in : {x, varying(x, {0, 1}), varying(x, {1})}) {
      MapRunner runner(resize({{}, vector.out_height, vector.out_width}));
      const auto out = runner.run(in);
      ASSERT_TRUE(out) << out.error().message;
      EXPECT_EQ(out->spec, fixed_field("x", DType::f32,
                                       {vector.out_height, vector.out_width,
                                        vector.channels}));
      EXPECT_EQ(out->shape, out->spec.shape);
      expect_near(values_of<float>(*out), vector.bilinear);
    }
  }
}

TEST(ResizeMap, NearestGivesTensorFlowsPixelsAndKeepsTheType) {
  for (const ResizeVector& vector : kResizeVectors) {
    const auto out = MapRunner(resize({{},
                                       vector.out_height,
                                       vector.out_width,
                                       ResizeMethod::nearest}))
                         .run(image_of(vector));
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ(out->spec.dtype, vector.bytes ? DType::u8 : DType::f32);
    std::vector<float> got;
    if (vector.bytes) {
      for (const std::uint8_t v : values_of<std::uint8_t>(*out)) {
        got.push_back(v);
      }
    } else {
      got = values_of<float>(*out);
    }
    EXPECT_EQ(got, vector.nearest);
  }
}

TEST(ResizeMap, TakesImagesWithoutChannels) {
  const ResizeVector& vector = kResizeVectors[1];  // f32, one channel
  Array x = image_of(vector);
  x.shape = x.spec.shape = {vector.height, vector.width};
  const auto out =
      MapRunner(resize({{}, vector.out_height, vector.out_width})).run(x);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->shape, (Extents{vector.out_height, vector.out_width}));
  expect_near(values_of<float>(*out), vector.bilinear);
}

TEST(ResizeMap, TheSameSizeIsTheSameImage) {
  const Array x = image<float>(5, 4, 3, DType::f32);
  EXPECT_EQ(MapRunner(resize({{}, 5, 4})).run(x)->data, x.data);
  const Array wide = array_of<double>(DType::f64, {1, 2}, {1, 2});
  EXPECT_EQ(
      values_of<double>(
          *MapRunner(resize({{}, 1, 4, ResizeMethod::nearest})).run(wide)),
      (std::vector<double>{1, 1, 2, 2}));
}

// Data at an odd address: sources promise none.
TEST(ResizeMap, TakesDataThatIsNotAligned) {
  const ResizeVector& vector = kResizeVectors[3];
  const Array x = image_of(vector);
  const auto map = resize({{}, vector.out_height, vector.out_width});
  ASSERT_TRUE(map->bind({x.spec}));
  std::vector<std::byte> odd(x.data.size() + 1);
  std::copy(x.data.begin(), x.data.end(), odd.begin() + 1);
  std::vector<float> out(vector.bilinear.size());
  alignas(64) std::array<std::byte, 16384> scratch;
  ASSERT_LE(map->scratch_bytes(), 16384);
  Element in;
  in.values[0] = {odd.data() + 1, static_cast<std::int64_t>(x.data.size()),
                  x.shape};
  Element made;
  const std::array<std::byte*, 1> buffers = {
      reinterpret_cast<std::byte*>(out.data())};
  ASSERT_TRUE(map->apply(in, made, buffers, {scratch}));
  expect_near(out, vector.bilinear);
}

// Rows that do not fit the scratch are read where they lie.
TEST(ResizeMap, LongRowsOfUnknownWidthGiveTheSame) {
  for (const std::int64_t channels : {1, 3}) {
    const Array x = image<std::uint8_t>(2, 40000, channels, DType::u8);
    const auto fixed = MapRunner(resize({{}, 3, 500})).run(x);
    MapRunner runner(resize({{}, 3, 500}));
    const auto open = runner.run(varying(x, {0, 1}));
    ASSERT_TRUE(fixed && open);
    EXPECT_EQ(fixed->data, open->data);
    EXPECT_LT(runner.map().scratch_bytes(), 200'000);
  }
}

TEST(ResizeMap, AllInstructionSetsGiveTheSameBits) {
  const std::int64_t count = 37;
  std::vector<std::int32_t> lower(count);
  std::vector<std::int32_t> upper(count);
  std::vector<float> part(count);
  std::vector<std::uint8_t> bytes(200);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(i * 89);
  }
  for (const std::int64_t channels : {1, 2, 3, 4, 7}) {
    const BetweenTable table{lower.data(), upper.data(), part.data(), count};
    fill_between(200 / channels, channels, table);
    std::vector<std::vector<float>> results;
    for (int level = 0; level < kResizeLevels; ++level) {
      const ResizeLoops* loops = resize_loops_of(level);
      if (loops == nullptr) continue;
      std::vector<float> row(200 + kRowRoom);
      std::vector<float> made(
          static_cast<std::size_t>(count * channels + kRowRoom));
      loops->widen(bytes.data(), 200, row.data());
      loops->across(row.data(), table, channels, made.data());
      made.resize(static_cast<std::size_t>(count * channels));
      std::vector<float> out(made.size());
      loops->down(made.data(), row.data(), 0.3f,
                  std::min<std::int64_t>(count * channels, 200), out.data());
      made.insert(made.end(), out.begin(), out.end());
      std::vector<float> pixels(4 * 90);
      const std::uint8_t* samples = bytes.data();
      loops->blend(samples, samples + 90, 0.3f, 90, pixels.data());
      made.insert(made.end(), pixels.begin(), pixels.end());
      std::vector<float> pairs(2 * 60);
      loops->blend_pairs(samples, samples + 60, samples + 70, samples + 130,
                         0.7f, 60, pairs.data());
      const std::int64_t wide = channels == 3 ? 3 : 4;
      loops->interleave(made.data(), pairs.data(), 37, wide, pixels.data());
      made.insert(made.end(), pixels.begin(), pixels.end());
      loops->from_ycbcr(made.data(), pairs.data(), 37, wide, pixels.data());
      made.insert(made.end(), pixels.begin(), pixels.end());
      results.push_back(made);
    }
    for (const auto& result : results) EXPECT_EQ(result, results[0]);
  }
}

TEST(ResizeMap, RefusesWhatIsNoImage) {
  const auto refusal = [](const Array& x, ResizeOptions options = {{}, 2, 2}) {
    return MapRunner(resize(options)).refusal(x);
  };
  const Array x = image<float>(3, 3, 1, DType::f32);
  EXPECT_TRUE(has(refusal(x, {{}, 0, 2}), "to 2 by 0 pixels"));
  EXPECT_TRUE(has(refusal(array_of<float>(DType::f32, {3}, {1, 2, 3})),
                  "resize: a field of [3]; it should be [height, width]"));
  EXPECT_TRUE(has(refusal(varying(x, {2})), "say how many channels"));
  EXPECT_TRUE(has(refusal(array_of<double>(DType::f64, {1, 1}, {1})),
                  "a field of f64; u8 and f32 are resized"));
  Array none = varying(x, {0, 1});
  MapRunner runner(resize({{}, 2, 2}));
  ASSERT_TRUE(runner.bind({none}));
  none.shape = {0, 3, 1};
  none.data.clear();
  EXPECT_TRUE(
      has(runner.apply({none}).error().message, "an image side of 0 pixels"));
}

}  // namespace
}  // namespace plimsoll::data
