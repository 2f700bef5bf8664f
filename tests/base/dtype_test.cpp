#include "base/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace plimsoll {
namespace {

constexpr int kTypes = static_cast<int>(DType::boolean) + 1;

TEST(DTypeTest, NamesAreDistinctAndReadBack) {
  std::set<std::string_view> names;
  for (int i = 0; i < kTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_TRUE(names.insert(name_of(dtype)).second) << name_of(dtype);
    EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
  }
  EXPECT_FALSE(parse_dtype("f128"));
  EXPECT_FALSE(parse_dtype(""));
  EXPECT_FALSE(parse_dtype("F32"));
}

TEST(DTypeTest, SizesFollowFromTheNames) {
  for (int i = 0; i < kTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string name(name_of(dtype));
    const std::int64_t bits =
        name == "bool" ? 8
                       : std::stoll(name.substr(name.find_first_of("123468")));
    EXPECT_EQ(size_of(dtype) * 8, bits) << name;
  }
}

TEST(DTypeTest, KindsOfTypes) {
  EXPECT_TRUE(is_floating(DType::f16));
  EXPECT_TRUE(is_floating(DType::bf16));
  EXPECT_FALSE(is_floating(DType::i8));
  EXPECT_TRUE(is_trainable(DType::f64));
  EXPECT_FALSE(is_trainable(DType::bf16));
  EXPECT_FALSE(is_trainable(DType::i32));
}

}  // namespace
}  // namespace plimsoll
