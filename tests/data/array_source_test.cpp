#include "data/array_source.h"

#include <gtest/gtest.h>

#include <array>

namespace plimsoll::data {
namespace {

TEST(ArraySource, GathersCastsAndLends) {
  const std::array<double, 6> x = {0, 1, 10, 11, 20, 21};
  const std::array<std::uint8_t, 3> y = {5, 6, 7};
  const auto source = ArraySource::create(3, {x.data(), {DType::f64, {2}}},
                                          {y.data(), {DType::u8, {}}});
  ASSERT_TRUE(source);
  const std::array<std::int64_t, 2> indices = {2, 0};
  std::array<float, 4> features{};
  std::array<std::int32_t, 2> labels{};
  ASSERT_TRUE((*source)->read(indices, DType::f32, features.data(), DType::i32,
                              labels.data(), {}));
  EXPECT_EQ(features, (std::array<float, 4>{20, 21, 0, 1}));
  EXPECT_EQ(labels, (std::array<std::int32_t, 2>{7, 5}));
  EXPECT_EQ((*source)->borrow_features(1, DType::f64), &x[2]);
  EXPECT_EQ((*source)->borrow_features(1, DType::f32), nullptr);
  EXPECT_EQ((*source)->borrow_labels(2, DType::u8), &y[2]);
  EXPECT_EQ((*source)->resident_bytes(), 0);
  EXPECT_EQ((*source)->declared_user_bytes(), 3 * 17);
  const std::int64_t outside = 3;
  EXPECT_FALSE((*source)->read({&outside, 1}, DType::f32, features.data(),
                               DType::i32, nullptr, {}));
}

TEST(ArraySource, RefusesNullAndEmpty) {
  const float x = 0;
  const FieldType type{DType::f32, {}};
  EXPECT_TRUE(ArraySource::create(1, {&x, type}, {&x, type}));
  EXPECT_FALSE(ArraySource::create(0, {&x, type}, {&x, type}));
  EXPECT_FALSE(ArraySource::create(1, {nullptr, type}, {&x, type}));
  EXPECT_FALSE(ArraySource::create(1, {&x, type}, {nullptr, type}));
}

}  // namespace
}  // namespace plimsoll::data
