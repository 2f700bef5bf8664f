#include "memory/capped_resource.h"

#include <gtest/gtest.h>

#include <new>

#include "device/null/null_memory_source.h"

namespace plimsoll {
namespace {

TEST(CappedResource, StopsAtItsCapAndGivesEverythingBack) {
  NullMemorySource source(1 << 20, 4096);
  {
    CappedResource memory(source, 3 * 4096);
    void* first = memory.allocate(5000);  // two pages
    EXPECT_EQ(memory.held_bytes(), 2 * 4096);
    void* second = memory.allocate(1);
    EXPECT_NE(first, second);
    EXPECT_THROW((void)memory.allocate(1), std::bad_alloc);
    memory.deallocate(first, 5000);
    EXPECT_EQ(source.mapped_bytes(), 4096);
    EXPECT_NE(memory.allocate(8192), nullptr);
  }
  EXPECT_EQ(source.mapped_bytes(), 0);
}

}  // namespace
}  // namespace plimsoll
