#include "device/cpu/run_program.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(RunProgram, WarningsAreNotOutput) {
  const auto text =
      output_of({"/bin/sh", "-c", "echo careful >&2; echo 12 34"});
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, "12 34\n");
}

TEST(RunProgram, AFailureSaysWhatTheProgramSaid) {
  const auto text =
      output_of({"/bin/sh", "-c", "echo 12; echo no such thing >&2; exit 3"});
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("no such thing"), std::string::npos);
  EXPECT_EQ(text.error().message.find("12"), std::string::npos);
}

TEST(RunProgram, AMissingProgramIsNamed) {
  const auto text = output_of({"/nowhere/program"});
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("/nowhere/program"), std::string::npos);
}

// More than a pipe holds, on both.
TEST(RunProgram, MuchOutputDoesNotHang) {
  const auto text =
      output_of({"/bin/sh", "-c",
                 "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero"});
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->size(), 300000u);
}

}  // namespace
}  // namespace plimsoll
