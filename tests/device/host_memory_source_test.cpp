#include "device/cpu/host_memory_source.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/units.h"
#include "device/cpu/process_memory.h"

namespace plimsoll {
namespace {

std::int64_t anonymous_bytes() {
  static const auto reader = ProcessMemoryReader::open_self();
  ProcessMemory memory;
  return reader.ok() && reader->read(memory) ? memory.anonymous_bytes : -1;
}

TEST(HostMemorySourceTest, ResidentIsMappedToTheByte) {
  HostMemorySource source;
  anonymous_bytes();  // the reader's own first steps
  // Past several huge pages, with an odd end: none may round it up.
  const std::int64_t bytes = 9 * kMiB + 3 * source.granularity_bytes();
  const std::int64_t before = anonymous_bytes();
  void* start = source.map(bytes);
  const std::int64_t mapped = anonymous_bytes();
  ASSERT_NE(start, nullptr);
  source.unmap(start, bytes);
  const std::int64_t after = anonymous_bytes();
#if !defined(PLIMSOLL_SANITIZED)
  EXPECT_EQ(mapped - before, bytes);
  EXPECT_EQ(after, before);
#else
  EXPECT_GE(mapped - before, bytes);  // and the sanitizer's shadow
  EXPECT_LT(after, mapped);
#endif
}

TEST(HostMemorySourceTest, PagesAreZeroAndWritable) {
  HostMemorySource source;
  const std::int64_t bytes = 16 * source.granularity_bytes();
  auto* start = static_cast<unsigned char*>(source.map(bytes));
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(start) % 4096, 0u);
  for (std::int64_t i = 0; i < bytes; ++i) ASSERT_EQ(start[i], 0);
  start[0] = start[bytes - 1] = 7;
  source.unmap(start, bytes);
}

TEST(HostMemorySourceTest, CountsAtTheCall) {
  HostMemorySource source;
  const std::int64_t page = source.granularity_bytes();
  void* a = source.map(page);
  void* b = source.map(3 * page);
  EXPECT_EQ(source.mapped_bytes(), 4 * page);
  source.unmap(a, page);
  EXPECT_EQ(source.mapped_bytes(), 3 * page);
  EXPECT_EQ(source.peak_mapped_bytes(), 4 * page);
  source.unmap(b, 3 * page);
  source.unmap(nullptr, page);
  EXPECT_EQ(source.mapped_bytes(), 0);
  EXPECT_EQ(source.peak_mapped_bytes(), 4 * page);
}

TEST(HostMemorySourceTest, RefusalsAreNullAndCountNothing) {
  HostMemorySource source;
  EXPECT_EQ(source.map(0), nullptr);
  EXPECT_EQ(source.map(-4096), nullptr);
  EXPECT_EQ(source.map(100), nullptr);
  EXPECT_EQ(source.map(std::int64_t{1} << 60), nullptr);
  EXPECT_EQ(source.peak_mapped_bytes(), 0);
}

TEST(HostMemorySourceTest, TheSystemRefusesPastTheMost) {
  HostMemorySource source;
  const std::int64_t page = source.granularity_bytes();
  source.set_most_bytes(10 * page);
  void* first = source.map(6 * page);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(source.map(5 * page), nullptr);
  void* rest = source.map(4 * page);
  EXPECT_NE(rest, nullptr);
  source.unmap(rest, 4 * page);
  source.unmap(first, 6 * page);
  // Others in the process are not bound by it.
  HostMemorySource other;
  void* more = other.map(20 * page);
  ASSERT_NE(more, nullptr);
  other.unmap(more, 20 * page);
}

TEST(HostMemorySourceTest, MemoryComesAndGoesInReservedAddresses) {
  HostMemorySource source;
  const std::int64_t page = source.granularity_bytes();
  const std::int64_t reserved = 64 * kGiB;
  anonymous_bytes();  // the reader's own first steps
  [[maybe_unused]] const std::int64_t before = anonymous_bytes();
  auto* start = static_cast<std::byte*>(source.reserve(reserved));
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(source.mapped_bytes(), 0);
  std::byte* const there = start + reserved - 9 * kMiB;
  ASSERT_TRUE(source.commit(there, 9 * kMiB));
  EXPECT_EQ(source.mapped_bytes(), 9 * kMiB);
  [[maybe_unused]] const std::int64_t committed = anonymous_bytes();
  there[0] = there[9 * kMiB - 1] = std::byte{7};
  source.decommit(there + page, 9 * kMiB - 2 * page);
  EXPECT_EQ(source.mapped_bytes(), 2 * page);
  EXPECT_EQ(there[0], std::byte{7});
  EXPECT_EQ(there[9 * kMiB - 1], std::byte{7});
  [[maybe_unused]] const std::int64_t left = anonymous_bytes();
#if !defined(PLIMSOLL_SANITIZED)
  EXPECT_EQ(committed - before, 9 * kMiB);
  EXPECT_EQ(left - before, 2 * page);
#endif
  source.decommit(there, page);
  source.decommit(there + 9 * kMiB - page, page);
  source.unreserve(start, reserved);
  EXPECT_EQ(source.mapped_bytes(), 0);
  EXPECT_EQ(source.peak_mapped_bytes(), 9 * kMiB);
}

TEST(HostMemorySourceTest, CommitsAreRefusedLikeMappings) {
  HostMemorySource source;
  const std::int64_t page = source.granularity_bytes();
  EXPECT_EQ(source.reserve(0), nullptr);
  EXPECT_EQ(source.reserve(page + 1), nullptr);
  EXPECT_EQ(source.reserve(std::int64_t{1} << 60), nullptr);
  source.unreserve(nullptr, page);
  auto* start = static_cast<std::byte*>(source.reserve(20 * page));
  ASSERT_NE(start, nullptr);
  EXPECT_FALSE(source.commit(start, 100));
  EXPECT_FALSE(source.commit(start, 0));
  source.set_most_bytes(10 * page);
  EXPECT_TRUE(source.commit(start, 6 * page));
  EXPECT_FALSE(source.commit(start + 6 * page, 5 * page));
  EXPECT_EQ(source.mapped_bytes(), 6 * page);
  source.decommit(start, 6 * page);
  source.unreserve(start, 20 * page);
}

}  // namespace
}  // namespace plimsoll
