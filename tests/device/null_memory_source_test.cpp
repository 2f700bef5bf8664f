#include "device/null/null_memory_source.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "device/cpu/process_memory.h"

namespace plimsoll {
namespace {

TEST(NullMemorySourceTest, CountsAgainstItsSize) {
  NullMemorySource source(10 * kGiB, 2 * kMiB);
  void* a = source.map(6 * kGiB);
  void* b = source.map(4 * kGiB);
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_NE(a, b);
  EXPECT_EQ(source.map(2 * kMiB), nullptr);
  EXPECT_EQ(source.mapped_bytes(), 10 * kGiB);
  source.unmap(a, 6 * kGiB);
  EXPECT_EQ(source.mapped_bytes(), 4 * kGiB);
  EXPECT_EQ(source.peak_mapped_bytes(), 10 * kGiB);
  source.unmap(b, 4 * kGiB);
  EXPECT_EQ(source.map(kMiB), nullptr);  // half a granule
  EXPECT_EQ(source.map(-2 * kMiB), nullptr);
}

TEST(NullMemorySourceTest, HoldsNoMemory) {
  NullMemorySource source(64 * kGiB, 4096);
  const auto reader = ProcessMemoryReader::open_self();
  ASSERT_TRUE(reader.ok());
  ProcessMemory before, after;
  ASSERT_TRUE(reader->read(before));
  void* start = source.map(64 * kGiB);
  ASSERT_TRUE(reader->read(after));
  EXPECT_LT(after.resident_bytes() - before.resident_bytes(), kMiB);
  source.unmap(start, 64 * kGiB);
}

TEST(NullMemorySourceTest, ReservedAddressesCountWhatIsCommitted) {
  NullMemorySource source(10 * kGiB, 2 * kMiB);
  auto* start = static_cast<std::byte*>(source.reserve(100 * kGiB));
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(source.mapped_bytes(), 0);
  EXPECT_TRUE(source.commit(start + 50 * kGiB, 6 * kGiB));
  EXPECT_FALSE(source.commit(start, 6 * kGiB));
  EXPECT_FALSE(source.commit(start, kMiB));
  EXPECT_EQ(source.map(6 * kGiB), nullptr);
  source.decommit(start + 51 * kGiB, 5 * kGiB);
  EXPECT_EQ(source.mapped_bytes(), kGiB);
  EXPECT_TRUE(source.commit(start, 6 * kGiB));
  source.decommit(start, 6 * kGiB);
  source.decommit(start + 50 * kGiB, kGiB);
  source.unreserve(start, 100 * kGiB);
  EXPECT_EQ(source.mapped_bytes(), 0);
  EXPECT_EQ(source.peak_mapped_bytes(), 7 * kGiB);
}

#if !defined(__SANITIZE_THREAD__)
TEST(NullMemorySourceDeathTest, TouchingItTraps) {
  NullMemorySource source(4096, 4096);
  auto* start = static_cast<volatile char*>(source.map(4096));
  EXPECT_DEATH(start[0] = 1, "");
}
#endif

}  // namespace
}  // namespace plimsoll
