#include "memory/proc_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "memory/planted_root.h"

namespace plimsoll {
namespace {

TEST(ProcTextTest, FieldsStartTheirLines) {
  const char* text = "VmSwapX: 1 kB\nxVmSwap: 2 kB\nVmSwap:\t   3 kB\n";
  EXPECT_EQ(kib_field(text, "VmSwap:"), 3 * 1024);
  EXPECT_EQ(kib_field(text, "VmRSS:"), std::nullopt);
  EXPECT_EQ(kib_field("Rss: lots kB", "Rss:"), std::nullopt);
  EXPECT_EQ(kib_field("Rss: 9223372036854775807 kB", "Rss:"), std::nullopt);
}

TEST(ProcTextTest, NumbersAndWhatIsNone) {
  EXPECT_EQ(leading_number("  42\n"), 42);
  EXPECT_EQ(leading_number("-1"), -1);
  EXPECT_EQ(leading_number("max\n"), std::nullopt);
  EXPECT_EQ(leading_number(""), std::nullopt);
  EXPECT_EQ(leading_number("18446744073709551615"),
            std::numeric_limits<std::int64_t>::max());
}

TEST(ProcTextTest, ReadsWholeFilesOrNothing) {
  const PlantedRoot root;
  const std::string large(10000, 'x');
  root.plant("/large", large);
  EXPECT_EQ(read_text_file(root.path() + "/large"), large);
  EXPECT_EQ(read_text_file(root.path() + "/none"), std::nullopt);
  EXPECT_EQ(read_text_file(root.path()), std::nullopt);  // a folder
}

TEST(ProcTextTest, SplitsAtEverySeparator) {
  EXPECT_EQ(split_fields("a,,b", ','),
            (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split_fields("", ','), (std::vector<std::string_view>{""}));
}

}  // namespace
}  // namespace plimsoll
