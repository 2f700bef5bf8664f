#include "base/shape.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

const Dim kBatch = Dim::batch();

TEST(ShapeTest, BatchIsReplaced) {
  const Shape shape = {kBatch, Dim::batch(3), 5};
  EXPECT_FALSE(shape.is_fixed());
  EXPECT_EQ(shape.at(4), (Shape{4, 12, 5}));
  EXPECT_TRUE(shape.at(4).is_fixed());
  EXPECT_EQ(shape.at(4).elements(), 240);
  EXPECT_EQ(shape.to_string(), "[B, 3B, 5]");
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ(Shape{}.to_string(), "[]");
}

TEST(ShapeTest, NegativeAxesCountFromTheEnd) {
  const Shape shape = {2, 3, 5};
  EXPECT_EQ(shape.extent(-1), 5);
  EXPECT_EQ(shape.extent(-3), 2);
  EXPECT_EQ(shape.extent(1), 3);
}

TEST(ShapeTest, TooManyElementsAreAnError) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 31;
  EXPECT_EQ(*(Shape{kLarge, kLarge}).checked_elements(1),
            std::int64_t{1} << 62);
  for (const Shape& shape :
       {Shape{kLarge, kLarge, 2}, Shape{kLarge, kLarge, kLarge},
        Shape{kLarge, kLarge, kBatch}, Shape{Dim::batch(kLarge), kLarge}}) {
    const auto count = shape.checked_elements(2);
    ASSERT_FALSE(count.ok()) << shape.to_string();
    EXPECT_NE(count.error().message.find(shape.to_string()), std::string::npos);
  }
  EXPECT_EQ(*(Shape{0, kBatch}).checked_elements(7), 0);
}

TEST(ShapeTest, NegativeExtentsAreAnError) {
  EXPECT_FALSE((Shape{-1}).checked_elements(1).ok());
  EXPECT_FALSE((Shape{-2, -3}).checked_elements(1).ok());
}

TEST(ShapeTest, SameElementsForEveryBatch) {
  EXPECT_TRUE((Shape{kBatch, 6}).same_elements(Shape{2, Dim::batch(3)}));
  EXPECT_FALSE((Shape{kBatch, 6}).same_elements(Shape{6}));
  EXPECT_FALSE((Shape{kBatch, 6}).same_elements(Shape{kBatch, kBatch, 6}));
}

TEST(ShapeTest, BroadcastsAsNumPyDoes) {
  EXPECT_EQ(*broadcast({kBatch, 5}, {5}), (Shape{kBatch, 5}));
  EXPECT_EQ(*broadcast({3, 1, 5}, {4, 1}), (Shape{3, 4, 5}));
  EXPECT_EQ(*broadcast({}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(*broadcast({1}, {kBatch}), (Shape{kBatch}));
  EXPECT_EQ(*broadcast({0}, {1}), (Shape{0}));
  const auto failed = broadcast({kBatch, 5}, {kBatch, 4});
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("[B, 5]"), std::string::npos);
  EXPECT_FALSE(broadcast({kBatch}, {32}).ok());
}

TEST(ShapeTest, RowMajorStrides) {
  EXPECT_EQ(row_major_strides({2, 3, 5}),
            (std::vector<std::int64_t>{15, 5, 1}));
  EXPECT_TRUE(row_major_strides({}).empty());
}

}  // namespace
}  // namespace plimsoll
