#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace plimsoll {
namespace {

Result<int> half_of(int number) {
  if (number % 2 != 0) return Error{ErrorCode::bad_input, "odd"};
  return number / 2;
}

Result<int> quarter_of(int number) {
  PLIMSOLL_ASSIGN(const int half, half_of(number));
  PLIMSOLL_ASSIGN(const int quarter, half_of(half));
  return quarter;
}

Status check_quarter(int number) {
  PLIMSOLL_RETURN_IF_ERROR(quarter_of(number));
  return {};
}

TEST(ResultTest, CarriesValueOrError) {
  EXPECT_EQ(*half_of(4), 2);
  const Result<int> failed = half_of(3);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error(), (Error{ErrorCode::bad_input, "odd"}));
}

TEST(ResultTest, MacrosLeaveAtTheFirstError) {
  EXPECT_EQ(*quarter_of(8), 2);
  EXPECT_EQ(quarter_of(6).error().message, "odd");
  EXPECT_TRUE(check_quarter(8).ok());
  EXPECT_EQ(check_quarter(6).error().code, ErrorCode::bad_input);
}

TEST(ResultTest, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 5);
}

}  // namespace
}  // namespace plimsoll
