#include "data/maps/numeric.h"

#include <gtest/gtest.h>

#include "data/maps/map_runner.h"

namespace plimsoll::data {
namespace {

// Set one by one: GCC 12 warns of a brace list that holds vectors.
MapRunner normaliser(std::vector<float> mean, std::vector<float> deviation) {
  NormaliseOptions options;
  options.mean = std::move(mean);
  options.deviation = std::move(deviation);
  return MapRunner(normalise(std::move(options)));
}

TEST(CastMap, CastsTheChosenFieldAndPassesOthersOn) {
  const Array x = array_of<float>(DType::f32, {2}, {1.5f, -300});
  const Array y = array_of<float>(DType::f32, {}, {7.9f}, "label");
  for (const FieldChoice& choice :
       {FieldChoice{"label", 0}, FieldChoice{"", 1}}) {
    MapRunner runner(cast({choice, DType::i8}));
    const auto spec = runner.bind({x, y});
    ASSERT_TRUE(spec);
    EXPECT_EQ((*spec)[0], x.spec);
    EXPECT_EQ((*spec)[1], fixed_field("label", DType::i8, {}));
    const auto out = runner.apply({x, y});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ((*out)[0].data, x.data);
    EXPECT_EQ(values_of<std::int8_t>((*out)[1]), std::vector<std::int8_t>{7});
    EXPECT_FALSE(runner.map().writes(0));
    EXPECT_TRUE(runner.map().writes(1));
  }
  MapRunner wide(cast({{}, DType::f64}));
  EXPECT_EQ(values_of<double>(*wide.run(x)), (std::vector<double>{1.5, -300}));
}

TEST(CastMap, TakesShapesThatVary) {
  Array x = varying(array_of<std::int16_t>(DType::i16, {4}, {1, 2, 3, 4}), {0});
  MapRunner runner(cast({}));
  const auto spec = runner.bind({x});
  ASSERT_TRUE(spec);
  EXPECT_EQ((*spec)[0].most_bytes, 16);
  x.shape = {3};
  x.data.resize(6);
  const auto out = runner.apply({x});
  ASSERT_TRUE(out);
  EXPECT_EQ(values_of<float>((*out)[0]), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ((*out)[0].shape, Extents{3});
  x.shape = {4};  // which it has not
  EXPECT_TRUE(has(runner.apply({x}).error().message,
                  "has 6 bytes; [4] of i16 "
                  "have 8"));
  x.shape = {5};
  x.data.resize(10);
  EXPECT_TRUE(has(runner.apply({x}).error().message,
                  "[5] takes 20 bytes; at most 16 were declared"));
  x.shape = {1, 3};
  EXPECT_TRUE(has(runner.apply({x}).error().message,
                  "the field is [1, 3]; [?] was declared"));
}

TEST(CastMap, RefusesFieldsThatAreNotThere) {
  const Array x = array_of<float>(DType::f32, {1}, {1});
  EXPECT_TRUE(has(MapRunner(cast({{"y", 0}})).refusal(x),
                  "cast: there is no field \"y\"; elements have: x f32 [1]"));
  EXPECT_TRUE(has(MapRunner(cast({{"", 1}})).refusal(x),
                  "there is no field 1; elements have 1"));
  EXPECT_TRUE(has(MapRunner(cast({{"", -1}})).refusal(x), "no field -1"));
}

TEST(CastMap, LeavesFieldsAloneThatNobodyWants) {
  const auto map = cast({});
  const Array x = array_of<float>(DType::f32, {1}, {1});
  ASSERT_TRUE(map->bind({x.spec}));
  Element in;
  in.values[0] = {x.data.data(), 4, x.shape};
  Element out;
  const std::array<std::byte*, 1> none{};
  EXPECT_TRUE(map->apply(in, out, none, {}));
}

TEST(ScaleMap, MultipliesAndAddsInF32) {
  std::vector<std::uint8_t> many;
  for (int i = 0; i < 5000; ++i) many.push_back(static_cast<std::uint8_t>(i));
  const auto out = MapRunner(scale({{}, 1.0f / 255, -0.5f}))
                       .run(array_of<std::uint8_t>(DType::u8, {50, 100}, many));
  ASSERT_TRUE(out);
  EXPECT_EQ(out->spec.dtype, DType::f32);
  EXPECT_EQ(out->shape, (Extents{50, 100}));
  const auto values = values_of<float>(*out);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto byte = static_cast<float>(many[i]);
    ASSERT_EQ(values[i], byte * (1.0f / 255) + -0.5f);
  }
}

TEST(NormaliseMap, WorksPerChannelOrForAll) {
  std::vector<float> many;
  for (int i = 0; i < 3 * 3000; ++i) many.push_back(static_cast<float>(i));
  const Array x = array_of<float>(DType::f32, {3000, 3}, many);
  const std::vector<float> mean = {1, 2, 3};
  const std::vector<float> deviation = {4, 5, 6};
  const auto out = normaliser(mean, deviation).run(x);
  ASSERT_TRUE(out);
  const auto values = values_of<float>(*out);
  for (std::size_t i = 0; i < many.size(); ++i) {
    ASSERT_EQ(values[i], (many[i] - mean[i % 3]) / deviation[i % 3]) << i;
  }
  const auto single = normaliser({1}, {2}).run(x);
  EXPECT_EQ(values_of<float>(*single)[4999], (4999.0f - 1) / 2);
  const auto mixed = normaliser(mean, {2}).run(x);
  EXPECT_EQ(values_of<float>(*mixed)[4999], (4999.0f - 2) / 2);
}

TEST(NormaliseMap, RefusesWhatDoesNotFit) {
  const Array x = array_of<float>(DType::f32, {2}, {1, 2});
  EXPECT_TRUE(
      has(normaliser({1, 2, 3}, {1}).refusal(x), "3 means for a field of [2]"));
  EXPECT_TRUE(has(normaliser({1, 2, 3}, {1, 2}).refusal(x),
                  "3 means and 2 deviations"));
  EXPECT_TRUE(has(normaliser({}, {}).refusal(x), "0 means and 0 deviations"));
  EXPECT_TRUE(has(normaliser({1}, {0}).refusal(x),
                  "a deviation of 0; it should be above 0"));
}

TEST(OneHotMap, MakesRows) {
  const auto scalar = MapRunner(one_hot({{}, 3}))
                          .run(array_of<std::int64_t>(DType::i64, {}, {1}));
  ASSERT_TRUE(scalar) << scalar.error().message;
  EXPECT_EQ(scalar->shape, Extents{3});
  EXPECT_EQ(values_of<float>(*scalar), (std::vector<float>{0, 1, 0}));
  const auto rows = MapRunner(one_hot({{}, 2}))
                        .run(array_of<std::uint8_t>(DType::u8, {3}, {1, 0, 1}));
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->shape, (Extents{3, 2}));
  EXPECT_EQ(values_of<float>(*rows), (std::vector<float>{0, 1, 1, 0, 0, 1}));
}

TEST(OneHotMap, RefusesWhatIsNoClass) {
  const auto refusal = [](std::int64_t value) {
    return MapRunner(one_hot({{}, 10}))
        .refusal(array_of<std::int64_t>(DType::i64, {}, {value}));
  };
  EXPECT_EQ(refusal(9), "(done)");
  EXPECT_TRUE(has(refusal(10),
                  "the value 10 is no class; with a count of 10 "
                  "they are 0 to 9"));
  EXPECT_TRUE(has(refusal(-1), "the value -1 is no class"));
  const Array x = array_of<float>(DType::f32, {}, {1});
  EXPECT_TRUE(has(MapRunner(one_hot({{}, 3})).refusal(x), "cast it to i32"));
  const Array y = array_of<std::int32_t>(DType::i32, {}, {1});
  EXPECT_TRUE(has(MapRunner(one_hot({{}, 0})).refusal(y), "a count of 0"));
}

}  // namespace
}  // namespace plimsoll::data
