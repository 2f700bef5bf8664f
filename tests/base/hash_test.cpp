#include "base/hash.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

// The published test values of 64-bit FNV-1a.
TEST(HashTest, AgreesWithTheKnownAnswers) {
  EXPECT_EQ(stable_hash(""), 0xcbf29ce484222325u);
  EXPECT_EQ(stable_hash("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(stable_hash("foobar"), 0x85944171f73967e8u);
}

TEST(HashTest, ContinuesFromASeed) {
  EXPECT_EQ(stable_hash("bar", stable_hash("foo")), stable_hash("foobar"));
}

TEST(HashTest, TextHasSixteenDigits) {
  EXPECT_EQ(hash_text(0xabc), "0000000000000abc");
  EXPECT_EQ(hash_text(~std::uint64_t{0}), "ffffffffffffffff");
}

}  // namespace
}  // namespace plimsoll
