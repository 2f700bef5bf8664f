#include "data/sets/array_set.h"

#include <gtest/gtest.h>

#include <array>

namespace plimsoll::data {
namespace {

TEST(ArraySet, GathersAndLends) {
  const std::array<double, 6> x = {0, 1, 10, 11, 20, 21};
  const std::array<std::uint8_t, 3> y = {5, 6, 7};
  const auto set =
      ArraySet::create(3, {{fixed_field("x", DType::f64, {2}), x.data()},
                           {fixed_field("y", DType::u8, {}), y.data()}});
  ASSERT_TRUE(set);
  const std::array<std::int64_t, 2> numbers = {2, 0};
  std::array<double, 4> features{};
  std::array<std::uint8_t, 2> labels{};
  std::byte* const rows[] = {reinterpret_cast<std::byte*>(features.data()),
                             reinterpret_cast<std::byte*>(labels.data())};
  ASSERT_TRUE((*set)->gather(numbers, rows, {}));
  EXPECT_EQ(features, (std::array<double, 4>{20, 21, 0, 1}));
  EXPECT_EQ(labels, (std::array<std::uint8_t, 2>{7, 5}));
  EXPECT_EQ(static_cast<const void*>((*set)->borrow(0, 1)), &x[2]);
  EXPECT_EQ(static_cast<const void*>((*set)->borrow(1, 2)), &y[2]);
  Element element;
  ASSERT_TRUE((*set)->read(1, element, rows, {}));
  EXPECT_EQ(static_cast<const void*>(element.values[0].data), &x[2]);
  EXPECT_EQ(element.index, 1);
  const std::int64_t outside = 3;
  EXPECT_FALSE((*set)->gather({&outside, 1}, rows, {}));
}

TEST(ArraySet, RefusesNullAndEmpty) {
  const float x = 0;
  const FieldSpec field = fixed_field("x", DType::f32, {});
  EXPECT_TRUE(ArraySet::create(1, {{field, &x}}));
  EXPECT_FALSE(ArraySet::create(0, {{field, &x}}));
  EXPECT_FALSE(ArraySet::create(1, {{field, &x}, {field, nullptr}}));
  EXPECT_FALSE(ArraySet::create(1, {}));
  EXPECT_FALSE(ArraySet::create(
      1, std::vector<ArrayField>(kMostFields + 1, {field, &x})));
}

}  // namespace
}  // namespace plimsoll::data
